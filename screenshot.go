package bellglass

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/answer"
	"github.com/bellglass/bellglass/internal/look"
	"github.com/bellglass/bellglass/internal/tab"
)

// ScreenshotRequest asks for a picture of the page.
type ScreenshotRequest struct {
	Full bool // the whole page, up to 10,000 pixels, instead of the window
	// Name is the name of the file: no path. If empty, one is made. A file of
	// that name is never overwritten; the new one gets another name.
	Name  string
	Marks bool // draw a box with its number around each element
}

// Picture is what [Session.Screenshot] made.
type Picture struct {
	Head
	File          Artefact
	Width, Height int  // pixels
	Cut           bool // the page is longer than a picture may be
}

// Screenshot writes a picture of the page to a file in the principal's folder
// below [SessionOptions.ArtefactDir]. Protected fields are painted black.
func (s *Session) Screenshot(ctx context.Context, r ScreenshotRequest) Picture {
	const op = "screenshot"
	ctx, done, err := s.begin(ctx, op)
	if err != nil {
		return Picture{Head: s.failed(ctx0(ctx), op, err).Head}
	}
	defer done()
	p, err := s.screenshot(ctx, r)
	if err != nil {
		return Picture{Head: s.failed(ctx, op, err).Head}
	}
	p.Status, p.Rendered = StatusOK, true
	return p
}

func (s *Session) screenshot(ctx context.Context, r ScreenshotRequest) (Picture, error) {
	var pic Picture
	if s.o.ArtefactDir == "" {
		return pic, reasonError("screenshot", ReasonToolDenied, "There is no folder for screenshots.", nil)
	}
	name, err := fileName(r.Name, s.shot+1)
	if err != nil {
		return pic, err
	}
	seen, err := s.glance(ctx)
	if err != nil {
		return pic, err
	}
	all, err := s.live.Glance(ctx, look.Options{Behind: true})
	if err != nil {
		return pic, err
	}
	secret, whole := protected(all, nil)
	if !whole {
		return pic, reasonError("screenshot", ReasonProtected, "The page is too large to find all of its protected fields, so no picture was made.", nil)
	}
	shot, err := s.live.Screenshot(ctx, r.Full, secret)
	if errors.Is(err, tab.ErrMask) {
		return pic, reasonError("screenshot", ReasonProtected, "The page has a protected field that could not be hidden, so no picture was made.", err)
	}
	if errors.Is(err, tab.ErrUnopened) {
		return pic, reasonError("screenshot", ReasonInvalidArgument, "No page is open yet; browser_navigate opens one.", err)
	}
	if err != nil {
		return pic, err
	}
	if shot.Late {
		if all, err = s.live.Glance(ctx, look.Options{Behind: true}); err != nil {
			return pic, err
		}
		if now, whole := protected(all, nil); !whole || !painted(now, secret) {
			return pic, reasonError("screenshot", ReasonProtected, "A protected field came up while the picture was taken, so it was thrown away; try once more.", nil)
		}
	}
	cfg, err := png.DecodeConfig(bytes.NewReader(shot.PNG))
	if err != nil {
		return pic, fmt.Errorf("screenshot: %w", err)
	}
	pic.Width, pic.Height, pic.Cut = cfg.Width, cfg.Height, shot.Cut
	if r.Marks {
		if shot.PNG, err = mark(shot.PNG, seen, image.Pt(int(shot.ScrollX-shot.X), int(shot.ScrollY-shot.Y))); err != nil {
			return pic, fmt.Errorf("screenshot: %w", err)
		}
	}
	if pic.File, err = s.store(name, shot.PNG); err != nil {
		return pic, fmt.Errorf("screenshot: %w", err)
	}
	s.shot++
	pic.FinalURL, pic.Title, pic.HTTPStatus = seen.URL, seen.Title, seen.HTTPStatus
	return pic, nil
}

// painted reports that every protected field there is now is one of those that
// were painted over: by document and node, for nodes of another document may have
// the same numbers.
func painted(now, over []digest.Element) bool {
	return !slices.ContainsFunc(now, func(e digest.Element) bool {
		return !slices.ContainsFunc(over, func(o digest.Element) bool {
			return o.Frame == e.Frame && o.Doc == e.Doc && o.Node == e.Node
		})
	})
}

// protected lists the protected fields of a frame and those in it. It reports
// whether the frames were walked whole.
func protected(f *digest.Frame, list []digest.Element) ([]digest.Element, bool) {
	whole := !f.Cut
	for _, e := range f.Elements {
		if e.Protected {
			e.Frame, e.Doc = f.ID, f.Doc
			list = append(list, e)
		}
	}
	for _, p := range f.Places {
		if p.Child != nil {
			in := false
			list, in = protected(p.Child, list)
			whole = whole && in
		}
	}
	return list, whole
}

// plainName are names that mean a file and nothing else, anywhere.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// fileName is the name to write to.
func fileName(asked string, n int) (string, error) {
	if asked == "" {
		return fmt.Sprintf("screenshot-%d.png", n), nil
	}
	if !plainName.MatchString(asked) || strings.Contains(asked, "..") {
		return "", reasonError("screenshot", ReasonInvalidArgument, "A file name has letters, digits, dots, dashes and underscores, and no path.", nil)
	}
	if !strings.HasSuffix(strings.ToLower(asked), ".png") {
		asked += ".png"
	}
	return asked, nil
}

// folderName makes of a tenant or a run the name of a folder: never "." or
// "..", never with a separator, and never the same for two of them.
func folderName(s string) string {
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() < 120; i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

// store writes a file that was not there, in the principal's folder.
func (s *Session) store(name string, data []byte) (Artefact, error) {
	dir := filepath.Join(s.o.ArtefactDir, folderName(s.who.Tenant), folderName(s.who.Run))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Artefact{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Artefact{}, err
	}
	defer root.Close()
	base, ext := strings.TrimSuffix(name, filepath.Ext(name)), filepath.Ext(name)
	for i := 1; ; i++ {
		if i > 1 {
			name = fmt.Sprintf("%s-%d%s", base, i, ext)
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) && i < 10_000 {
			continue
		}
		if err != nil {
			return Artefact{}, err
		}
		if _, err := f.Write(data); err != nil {
			f.Close()
			root.Remove(name)
			return Artefact{}, err
		}
		if err := f.Close(); err != nil {
			return Artefact{}, err
		}
		path, err := filepath.Abs(filepath.Join(dir, name))
		return Artefact{Path: path, Name: name, MediaType: "image/png", Size: int64(len(data))}, err
	}
}

// mark draws the elements' boxes and numbers into a picture, in which the
// window begins at.
func mark(data []byte, seen *sight, window image.Point) ([]byte, error) {
	src, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	img := image.NewRGBA(src.Bounds())
	draw.Draw(img, img.Bounds(), src, src.Bounds().Min, draw.Src)
	ink := image.NewUniform(color.RGBA{0xd0, 0x00, 0x60, 0xff})
	for _, e := range seen.Elements {
		r := image.Rect(int(e.Box.X), int(e.Box.Y), int(e.Box.X+e.Box.Width), int(e.Box.Y+e.Box.Height)).Add(window).Add(seen.at[e.Frame])
		if r.Intersect(img.Bounds()).Empty() {
			continue
		}
		for _, edge := range []image.Rectangle{
			{r.Min, image.Pt(r.Max.X, r.Min.Y+2)}, {image.Pt(r.Min.X, r.Max.Y-2), r.Max},
			{r.Min, image.Pt(r.Min.X+2, r.Max.Y)}, {image.Pt(r.Max.X-2, r.Min.Y), r.Max},
		} {
			draw.Draw(img, edge, ink, image.Point{}, draw.Src)
		}
		number(img, r.Min, strconv.Itoa(e.Index), ink)
	}
	var out bytes.Buffer
	err = png.Encode(&out, img)
	return out.Bytes(), err
}

// digits are three by five dots each, a row an octal digit.
var digits = [10]uint16{0o75557, 0o26227, 0o71747, 0o71717, 0o55711, 0o74717, 0o74757, 0o71111, 0o75757, 0o75717}

// number writes a number in a box, above or at a point.
func number(img draw.Image, at image.Point, s string, ink image.Image) {
	const dot = 3
	box := image.Rect(0, 0, len(s)*4*dot+dot, 7*dot).Add(at)
	if up := box.Sub(image.Pt(0, 7*dot)); up.Min.Y >= img.Bounds().Min.Y {
		box = up
	}
	draw.Draw(img, box, ink, image.Point{}, draw.Src)
	for i, c := range s {
		g := digits[c-'0']
		for row := range 5 {
			for col := range 3 {
				if g>>(3*(4-row))&(4>>col) == 0 {
					continue
				}
				p := box.Min.Add(image.Pt(dot+(i*4+col)*dot, dot+row*dot))
				draw.Draw(img, image.Rectangle{p, p.Add(image.Pt(dot, dot))}, image.White, image.Point{}, draw.Src)
			}
		}
	}
}

func runScreenshot(s *Session, ctx context.Context, raw json.RawMessage) ToolResult {
	var r ScreenshotRequest
	if err := answer.Decode(raw, map[string]any{"full_page": &r.Full, "filename": &r.Name, "marks": &r.Marks}); err != nil {
		return invalid("screenshot", err)
	}
	return s.Screenshot(ctx, r).result()
}

// result is a picture as a tool answers it.
func (p Picture) result() ToolResult {
	w := &answer.Writer{}
	w.Outcome(string(p.Status), string(p.Reason), p.Hint, p.RetryAfter)
	w.Add("final_url", p.FinalURL)
	res := ToolResult{IsError: p.Status != StatusOK}
	if p.Status == StatusOK {
		res.File = &p.File
		w.Add("path", p.File.Path)
		w.Add("mime_type", p.File.MediaType)
		w.Add("size_bytes", int(p.File.Size))
		w.Add("width", p.Width)
		w.Add("height", p.Height)
		w.Add("cut", p.Cut)
	}
	res.Text, res.Fields = w.Text.String(), w.Fields
	return res
}
