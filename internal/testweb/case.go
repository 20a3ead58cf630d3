package testweb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Case is a page that once broke a tool, with the calls that broke it and what
// should have happened: a folder that holds case.json, the page (index.html)
// and its helpers. Keys that are not below are errors, so that an expectation
// cannot be lost to a typing error.
type Case struct {
	Dir string `json:"-"` // the folder

	ID     string     `json:"id"` // the folder's name
	Source string     `json:"source"`
	Class  string     `json:"class"`
	Title  string     `json:"title"`
	Want   string     `json:"want"` // the expectation in prose
	Risk   string     `json:"risk"`
	Server CaseServer `json:"server"`
	Trap   CaseTrap   `json:"trap"`
	Steps  []Step     `json:"steps"`
	Expect Expect     `json:"expect"`
}

// CaseServer is what the server does besides serving the folder's files.
type CaseServer struct {
	Routes []Route `json:"routes"`
}

// Route is a path that is answered in a special way, in this order: wait
// DelayMS; if Drop, reset the connection; wait HangMS; redirect or answer; drip.
type Route struct {
	Path    string            `json:"path"`   // relative to the folder
	Status  int               `json:"status"` // if zero, 200
	Headers map[string]string `json:"headers"`

	// The body is one of these, or empty.
	Body     string  `json:"body"`
	BodyFile string  `json:"body_file"` // in the folder
	BodyB64  string  `json:"body_b64"`
	Repeat   *Repeat `json:"repeat"`

	Encode  string `json:"encode"` // gzip, deflate, br or zstd; says nothing about Headers
	DelayMS int    `json:"delay_ms"`
	HangMS  int    `json:"hang_ms"`
	Drop    bool   `json:"drop"`
	Drip    *Drip  `json:"drip"`

	// RedirectQuery names a parameter of the query that holds "host:port";
	// the Location is a URL there.
	RedirectQuery string `json:"redirect_query"`
	// KeepQuery appends the query to the Location.
	KeepQuery bool `json:"keep_query"`
}

// Repeat is a body of Count times Chunk.
type Repeat struct {
	Chunk string `json:"chunk"`
	Count int    `json:"count"`
}

// Drip sends Chunk again and again, until the client leaves.
type Drip struct {
	Chunk   string `json:"chunk"`
	EveryMS int    `json:"every_ms"`
}

// CaseTrap is a script that is true while the page still shows the problem.
type CaseTrap struct {
	Script string `json:"trap"`
	AtLoad string `json:"trap_at_load"` // the same, at the load event
	WaitMS int    `json:"trap_wait"`    // before Script
	Host   string `json:"trap_host"`
	Query  string `json:"trap_query"`
}

// Step is one call, or a pause.
type Step struct {
	Call    string          `json:"call"`    // see [Step.Reads] and [Step.Acts]; "" is a pause of WaitMS
	Session string          `json:"session"` // a name; "" is a session too
	Path    *string         `json:"path"`    // relative to the folder; nil means the present page
	URL     string          `json:"url"`     // absolute, instead of Path
	Target  string          `json:"target"`  // what a digest line must carry
	Index   json.RawMessage `json:"index"`   // literally, instead of Target; nil when absent
	Text    string          `json:"text"`
	Mode    string          `json:"mode"`
	Submit  bool            `json:"submit"`
	WaitMS  int             `json:"wait_ms"`

	Save           string `json:"save"` // keeps the digest under a name
	TargetFrom     string `json:"target_from"`
	GenerationFrom string `json:"generation_from"`

	MaxMS       int  `json:"max_ms"` // the longest that the call may take
	MaxChars    int  `json:"max_chars"`
	MaxElements int  `json:"max_elements"`
	ScrollPages int  `json:"scroll_pages"`
	PageAll     bool `json:"page_all"`

	ExpectError  WantError `json:"expect_error"`
	ExpectStatus string    `json:"expect_status"`
	Note         string    `json:"note"`
}

// Reads reports whether the step is a call without a session.
func (s Step) Reads() bool { return s.Call == "browse_page" || s.Call == "extract" }

// Acts reports whether the step is a call on a session's page.
func (s Step) Acts() bool {
	switch s.Call {
	case "navigate", "state", "click", "fill":
		return true
	}
	return false
}

// known are the words that Step.Call may hold besides those.
func (s Step) known() bool {
	return s.Reads() || s.Acts() || s.Call == "screenshot" || s.Call == "close" || s.Call == "" && s.WaitMS > 0
}

// WantError is true, or a word that the error must hold.
type WantError struct {
	Set  bool
	Word string
}

// UnmarshalJSON accepts a boolean or a string.
func (w *WantError) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &w.Set) == nil {
		return nil
	}
	w.Set = true
	if err := json.Unmarshal(b, &w.Word); err != nil || w.Word == "" {
		return fmt.Errorf("expect_error: %s is neither a boolean nor a word", b)
	}
	return nil
}

// Expect is what must be so in the end. Lists of strings are sub-strings.
// [Case.Check] judges most of it; [Expect.Beyond] names the rest.
type Expect struct {
	Status      string   `json:"status"`
	TextHas     []string `json:"text_has"`
	TextHasAny  []string `json:"text_has_any"`
	TextLacks   []string `json:"text_lacks"`
	Order       []string `json:"order"`
	EachOnce    []string `json:"each_once"`
	DigestHas   []string `json:"digest_has"`
	DigestLacks []string `json:"digest_lacks"`
	NoteHas     []string `json:"note_has"`
	ErrorHas    []string `json:"error_has"`
	ErrorLacks  []string `json:"error_lacks"`
	URLHas      []string `json:"url_has"`
	URLLacks    []string `json:"url_lacks"`
	Nowhere     []string `json:"nowhere"`
	ValidUTF8   bool     `json:"valid_utf8"`

	Results []WantResult `json:"results"` // one per step that returns a page; may be shorter
	Result  *WantResult  `json:"result"`  // of the last such step

	TextLacksBeforeClick []string `json:"text_lacks_before_click"`
	TextHasAfterClick    []string `json:"text_has_after_click"`
	DigestHasAfterFill   []string `json:"digest_has_after_fill"`
	AfterScrollTextLacks []string `json:"after_scroll_text_lacks"`
	SessionATextLacks    []string `json:"session_A_text_lacks"`
	SessionCTextHas      []string `json:"session_C_text_has"`
	DigestOrNoteHas      []string `json:"digest_or_note_has"`
	MaxDigestBytes       int      `json:"max_digest_bytes"`
	ErrorHasDigest       bool     `json:"error_has_digest"`

	// What only the one who runs the case can know.
	PageJS               []PageCheck    `json:"page_js"`
	CanaryHits           *int           `json:"canary_hits"`
	ProxyRefusalsAtLeast int            `json:"proxy_refusals_at_least"`
	TabsAfter            *int           `json:"tabs_after"`
	FilesOnDisk          *int           `json:"files_on_disk"`
	DigestCount          map[string]int `json:"digest_count"`
	DigestCountEnabled   map[string]int `json:"digest_count_enabled"`
	DigestCountAtLeast   int            `json:"digest_count_at_least"`
	TableRows            int            `json:"table_rows"`
	Paging               string         `json:"paging"`
	Decide               []string       `json:"decide"` // where the product chooses a rule
	Note                 string         `json:"note"`
}

// WantResult is what one result must be.
type WantResult struct {
	HTTPStatus  int      `json:"http_status"`
	Status      string   `json:"status"`
	Reason      string   `json:"reason"`
	ContentType string   `json:"content_type"`
	Text        *string  `json:"text"` // exactly
	TextHas     []string `json:"text_has"`
	TextLacks   []string `json:"text_lacks"`
	URLHas      string   `json:"url_has"`
	FinalURLHas string   `json:"final_url_has"`
	Truncated   *bool    `json:"truncated"`
}

// PageCheck is a script and the value it must have in the page afterwards.
type PageCheck struct {
	Script string
	Value  any // as encoding/json decodes it
}

// UnmarshalJSON accepts an array of two.
func (p *PageCheck) UnmarshalJSON(b []byte) error {
	var pair []json.RawMessage
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("page_js: %s is no pair", b)
	}
	return errors.Join(json.Unmarshal(pair[0], &p.Script), json.Unmarshal(pair[1], &p.Value))
}

// LoadCase loads the case in a folder.
func LoadCase(dir string) (*Case, error) {
	b, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err != nil {
		return nil, fmt.Errorf("testweb: case: %w", err)
	}
	c := &Case{Dir: dir}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("testweb: case %s: %w", dir, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("testweb: case %s: something follows the object", dir)
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("testweb: case %s: %w", dir, err)
	}
	return c, nil
}

// LoadCases loads every case in the folders below root, in order of their
// names.
func LoadCases(root string) ([]*Case, error) {
	paths, err := filepath.Glob(filepath.Join(root, "*", "case.json"))
	if err != nil {
		return nil, fmt.Errorf("testweb: cases: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("testweb: cases: none in %s: %w", root, fs.ErrNotExist)
	}
	var cases []*Case
	var errs []error
	for _, p := range paths {
		c, err := LoadCase(filepath.Dir(p))
		cases, errs = append(cases, c), append(errs, err)
	}
	return cases, errors.Join(errs...)
}

// validate finds what decoding cannot.
func (c *Case) validate() error {
	var errs []error
	complain := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.ID != filepath.Base(c.Dir) {
		complain("its id is %q", c.ID)
	}
	if len(c.Steps) == 0 {
		complain("no steps")
	}
	for i, s := range c.Steps {
		if !s.known() {
			complain("step %d: unknown call %q", i, s.Call)
		}
		if s.Path != nil && s.URL != "" {
			complain("step %d: both path and url", i)
		}
	}
	pages := 0
	for _, s := range c.Steps {
		if s.Reads() || s.Acts() {
			pages++
		}
	}
	if len(c.Expect.Results) > pages {
		complain("%d results of %d steps that return a page", len(c.Expect.Results), pages)
	}
	for _, r := range c.Server.Routes {
		if err := r.validate(c.Dir); err != nil {
			complain("route %s: %w", r.Path, err)
		}
	}
	return errors.Join(errs...)
}

func (r Route) validate(dir string) error {
	var bodies int
	for _, set := range []bool{r.Body != "", r.BodyFile != "", r.BodyB64 != "", r.Repeat != nil} {
		if set {
			bodies++
		}
	}
	if bodies > 1 {
		return errors.New("more than one body")
	}
	if !slices.Contains([]string{"", "gzip", "deflate", "br", "zstd"}, r.Encode) {
		return fmt.Errorf("unknown encoding %q", r.Encode)
	}
	if r.Drip != nil && r.Drip.EveryMS <= 0 {
		return errors.New("drip without every_ms")
	}
	if strings.HasPrefix(r.Path, "/") {
		return errors.New("the path is not relative")
	}
	_, err := r.body(dir)
	return err
}
