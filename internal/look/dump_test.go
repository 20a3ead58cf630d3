package look_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDump(t *testing.T) {
	dir := os.Getenv("DUMP")
	if dir == "" {
		t.Skip()
	}
	files, _ := filepath.Glob(dir)
	for _, f := range files {
		b, _ := os.ReadFile(f)
		p := newTab(t)
		p.write(string(b))
		fr := p.frame()
		fmt.Println("=====", f)
		fmt.Println(strings.Join(lines(fr), "\n"))
		fmt.Printf("--- text %d chars, hidden %d/%d, suspects %d places %v\n%s\n", fr.Chars, fr.HiddenChars, fr.HiddenBlocks, fr.Suspects, fr.Places, strings.Join(fr.Lines, "\n"))
	}
}
