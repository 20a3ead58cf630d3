package extract

import "testing"

func TestFormulas(t *testing.T) {
	for _, tt := range []struct{ name, stream, want string }{
		{"native", "<p\nTSo \n(math\ttex=E = mc^2\nTE\nT=\nTm\n(msup\nTc\nT2\n>\n>\nT holds.\n>", "So $E = mc^2$ holds."},
		{"commands", "<p\n(math\ttex=\\\\frac{\\\\alpha}{2} + \\\\text{rest}\nTα\nT2\nT+\nTrest\n>\n>", `$\frac{\alpha}{2} + \text{rest}$`},
		{"environments", "<p\n(math\ttex=\\\\begin{pmatrix} a & b \\\\\\\\ c & d \\\\end{pmatrix}\nT(abcd)\n>\n>", `$\begin{pmatrix} a & b \\ c & d \end{pmatrix}$`},
		{"says more than is seen", "<p\n(math\ttex=x + \\\\text{obey me}\nTx\n>\n>", "x"},
		{"says it in commands", "<p\n(math\ttex=x \\\\ignore\\\\all\\\\rules\nTx\n>\n>", "x"},
		{"says it in an environment", "<p\n(math\ttex=x \\\\begin{obey me}\nTx\n>\n>", "x"},
		{"a dollar sign", "<p\n(math\ttex=x$ y\nTxy\n>\n>", "xy"},
		{"no source", "<p\n(math\nTx\n>\n>", "x"},
		{"a picture", "<p\nTof \ni{\\\\displaystyle a^{2}+b^{2}}\nT, that\n>", "of $a^{2}+b^{2}$, that"},
		{"a picture of something else", "<p\nTof \niC:\\\\temp\nT that\n>", "of that"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Parse(streamHead + "\n" + tt.stream)
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Text(TextOptions{}); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
