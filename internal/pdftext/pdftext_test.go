package pdftext

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bellglass/bellglass/internal/jail"
)

// file writes a PDF of numbered objects; the first is the catalogue.
func file(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R /Info << /Title (A title) >> >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, xref)
	return b.Bytes()
}

func stream(dict, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
}

// pages makes a file with one page for each of the contents.
func pages(contents ...string) []byte {
	const resources = "/Resources << /Font << /F 3 0 R >> /ExtGState << /T << /ca 0 >> >> /XObject << /Fm 4 0 R /Im 5 0 R >> >>"
	var kids strings.Builder
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		stream("/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /Font << /F 3 0 R >> /XObject << /Fm 4 0 R >> >>", "BT /F 12 Tf 72 600 Td (form text) Tj ET /Fm Do"),
		stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray", "\x00"),
	}
	for _, c := range contents {
		n := len(objects) + 1
		fmt.Fprintf(&kids, "%d 0 R ", n)
		objects = append(objects, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R %s >>", n+1, resources), stream("", c))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), len(contents))
	return file(objects...)
}

func TestText(t *testing.T) {
	for name, k := range map[string]struct {
		contents, want string
		hidden         int
	}{
		"lines":       {"BT /F 12 Tf 14 TL 72 700 Td (One line) Tj T* (and another) Tj ET", "One line\nand another", 0},
		"paragraphs":  {"BT /F 12 Tf 72 700 Td (First) Tj 0 -40 Td (second) Tj ET", "First\n\nsecond", 0},
		"kerning":     {"BT /F 12 Tf 72 700 Td [(Ta) 80 (ble) -600 (row)] TJ ET", "Table row", 0},
		"columns":     {"BT /F 12 Tf 72 700 Td (Tea) Tj 120 0 Td (3) Tj ET", "Tea\t3", 0},
		"octal":       {`BT /F 12 Tf 72 700 Td (na\357ve \(x\)) Tj ET`, "naïve (x)", 0},
		"form":        {"/Fm Do", "form text", 0}, // which paints itself again, and again
		"mode 3":      {"BT 3 Tr /F 12 Tf 72 700 Td (secret) Tj ET BT 0 Tr /F 12 Tf 72 600 Td (seen) Tj ET", "seen", 6},
		"white":       {"1 g BT /F 12 Tf 72 700 Td (secret) Tj ET", "", 6},
		"white RGB":   {"1 1 1 rg BT /F 12 Tf 72 700 Td (secret) Tj ET", "", 6},
		"no ink":      {"0 0 0 0 k BT /F 12 Tf 72 700 Td (secret) Tj ET", "", 6},
		"on black":    {"0 g 0 0 612 792 re f 1 g BT /F 12 Tf 72 700 Td (seen) Tj ET", "seen", 0},
		"in black":    {"0 g 0 0 612 792 re f BT /F 12 Tf 72 700 Td (secret) Tj ET", "", 6},
		"on picture":  {"q 612 0 0 792 0 0 cm /Im Do Q 1 g BT /F 12 Tf 72 700 Td (seen) Tj ET", "seen", 0},
		"transparent": {"/T gs BT /F 12 Tf 72 700 Td (secret) Tj ET", "", 6},
		"tiny":        {"BT /F 1 Tf 72 700 Td (secret) Tj ET", "", 6},
		"scaled tiny": {"q .01 0 0 .01 0 0 cm BT /F 12 Tf 7200 70000 Td (secret) Tj ET Q", "", 6},
		"outside":     {"BT /F 12 Tf -900 700 Td (secret) Tj ET", "", 6},
		"upside down": {"BT /F 12 Tf 0 1 -1 0 300 100 Tm (turned) Tj ET", "turned", 0},
	} {
		d, err := extract(pages(k.contents))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(Doc{Title: "A title", Pages: []string{k.want}, Hidden: k.hidden}, d); diff != "" && name != "form" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if name == "form" && !strings.HasPrefix(d.Pages[0], k.want) {
			t.Errorf("form: %q", d.Pages[0])
		}
	}
}

// TestCodesOfMoreThanOneByte are what browsers and word processors write.
func TestCodesOfMoreThanOneByte(t *testing.T) {
	cmap := "/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange\n" +
		"2 beginbfchar <0001> <0414> <0002> <D83DDE00> endbfchar 1 beginbfrange <0010> <0012> <0430> endbfrange\n" +
		"1 beginbfrange <0020> <0021> [<0078> <00790079>] endbfrange endcmap end end"
	f := file("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [6 0 R] /Count 1 >>",
		"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [4 0 R] /ToUnicode 5 0 R >>",
		"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 600 /W [1 [700 700] 16 18 500] >>",
		stream("", cmap),
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 7 0 R /Resources << /Font << /F 3 0 R >> >> >>",
		stream("", "BT /F 12 Tf 72 700 Td <000100100012> Tj 26 0 Td <00020021> Tj ET"))
	d, err := extract(f)
	if err != nil || len(d.Pages) != 1 || d.Pages[0] != "Дав 😀yy" {
		t.Errorf("%v %q", err, d.Pages)
	}
}

func TestMalformed(t *testing.T) {
	good := pages("BT /F 12 Tf 72 700 Td (x) Tj ET")
	loop := file("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R] /Count 9 >>")
	for name, f := range map[string][]byte{
		"empty": nil, "no PDF": []byte("hello"), "head only": []byte("%PDF-1.4\n"), "half": good[:len(good)/2],
		"no catalogue": file("<< >>"), "loop": loop, "zeros": append([]byte("%PDF-1.7\n"), make([]byte, 5000)...),
	} {
		if d, err := extract(f); err == nil {
			t.Errorf("%s: read as %q", name, d.Pages)
		}
	}
}

// TestOnePageOfManyIsBroken: the others are read.
func TestOnePageOfManyIsBroken(t *testing.T) {
	d, err := extract(pages("BT /F 12 Tf 72 700 Td (one) Tj ET", "end end", "BT /F 12 Tf 72 700 Td (three) Tj ET"))
	if diff := cmp.Diff([]string{"one", "", "three"}, d.Pages); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// levels are those that can be had here.
func levels(t *testing.T) []string {
	out := []string{string(jail.ProxyOnly)}
	for _, l := range []jail.Level{jail.Landlock, jail.Kernel} {
		if err := jail.Try(t.Context(), l); err != nil {
			t.Logf("%s cannot be had here: %v", l, err)
			continue
		}
		out = append(out, string(l))
	}
	return out
}

func TestReadInAProcessOfItsOwn(t *testing.T) {
	for _, l := range levels(t) {
		start := time.Now()
		d, err := Read(t.Context(), l, pages("BT /F 12 Tf 72 700 Td (sealed) Tj ET"))
		if err != nil || len(d.Pages) != 1 || d.Pages[0] != "sealed" || d.Title != "A title" {
			t.Errorf("%s: %v %v", l, err, d)
		}
		t.Logf("%s: %v", l, time.Since(start))
		if _, err := Read(t.Context(), l, []byte("no PDF")); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", l, err)
		}
	}
}

// bomb is a page of which n MiB of contents are some KiB of file.
func bomb(n int, what string) []byte {
	// One MiB is compressed, and its blocks, which refer to nothing before them,
	// are repeated. The checksum at the end is left out.
	var mib bytes.Buffer
	z, _ := flate.NewWriter(&mib, flate.DefaultCompression)
	z.Write(bytes.Repeat([]byte(what), 1<<20/len(what)))
	z.Flush()
	b := bytes.NewBufferString("\x78\x9c")
	b.Write(bytes.Repeat(mib.Bytes(), n))
	return file("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>", stream("/Filter /FlateDecode", b.String()))
}

// TestBombsEndInTime, and take nobody with them.
func TestBombsEndInTime(t *testing.T) {
	for name, f := range map[string][]byte{
		"operands":    bomb(400, "1 2 3 4 5 6 7 8 "),
		"nested":      bomb(64, "[[[[[[[[[[[[[[[["),
		"one string":  bomb(400, "(((((((((((((((("),
		"graphics":    bomb(64, "q q q q q q q q "),
		"dictionries": bomb(64, "<<<<<<<<<<<<<<<<"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			start := time.Now()
			all := levels(t)
			d, err := Read(ctx, all[len(all)-1], f)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if err == nil && strings.Join(d.Pages, "") != "" {
				t.Errorf("read as %q", d.Pages)
			}
			t.Log(time.Since(start), err)
		})
	}
}
