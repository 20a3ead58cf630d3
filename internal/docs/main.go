// Command docs writes the generated part of the documentation: docs/tools.md
// from the tools and the reasons as the code has them, and docs/config.md from
// the tables by which configuration files are read.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/egressd"
	"github.com/bellglass/bellglass/tools"
)

func main() {
	for path, text := range map[string]string{"docs/tools.md": page(), "docs/config.md": config + egressd.Reference()} {
		if err := os.WriteFile(path, []byte(strings.TrimRight(text, "\n")+"\n"), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "docs:", err)
			os.Exit(1)
		}
	}
}

func page() string {
	var b strings.Builder
	b.WriteString("<!-- Generated from the code by go generate. -->\n# Tools\n\n" +
		"What a model sees. Every call returns a structured result; no page, browser or network failure is an error of the protocol.\n\n")
	list := append(tools.Read(nil), tools.SessionList(bellglass.SessionOptions{})...)
	for _, t := range list {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n| parameter | type | |\n|---|---|---|\n", t.Name, t.Description)
		var schema struct {
			Properties map[string]struct {
				Type, Description string
				Enum              []string
			}
			Required []string
		}
		if err := json.Unmarshal(t.InputSchema, &schema); err != nil {
			panic("docs: schema of " + t.Name + ": " + err.Error()) // our own constant
		}
		names := make([]string, 0, len(schema.Properties))
		for n := range schema.Properties {
			names = append(names, n)
		}
		slices.Sort(names)
		for _, n := range names {
			p := schema.Properties[n]
			required := ""
			if slices.Contains(schema.Required, n) {
				required = " (required)"
			}
			typ := p.Type
			if len(p.Enum) > 0 {
				typ = strings.Join(p.Enum, ", ")
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s%s |\n", n, typ, p.Description, required)
		}
		b.WriteByte('\n')
	}
	b.WriteString(form)
	b.WriteString(digestForm)
	b.WriteString("## Reasons\n\nThe same word stands in results, logs and metrics.\n\n| status | reason | hint |\n|---|---|---|\n")
	for _, r := range bellglass.Reasons() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", r.Status, r.Reason, r.Hint)
	}
	b.WriteString("\n## Instruction\n\nSent to the model by the MCP server, with the seal level; exported as `bellglass.Instruction`:\n\n> " + bellglass.Instruction + "\n\nWith the act profile, `bellglass.ActInstruction`:\n\n> " + bellglass.ActInstruction + "\n")
	return b.String()
}

const config = `<!-- Generated from the code by go generate. -->
# Configuration

## The egress proxy

` + "`bellglass-egress FILE`" + ` and ` + "`bellglass egress FILE`" + ` are the same program. The file is YAML, and strict: an unknown key, a key that stands twice or an entry that does not parse is an error with file and line, and all errors are told at once. ` + "`--check`" + ` tells them and ends, with exit code 0 or 2. An example is deploy/egress.yaml; how to run it is told in [operate.md](operate.md).

Durations are written 30s, 5m or 1h30m, sizes 500MiB or 2GiB.

`

const form = `## The form of a result

One text: "key: value" lines, then the page's text between two lines that carry a nonce, fresh for every result, so that no page can end it:

    status: ok
    final_url: https://example.com/prices
    http_status: 200
    content_type: text/html
    title: "Prices"
    truncated: true
    next_offset: 12000
    hidden_chars: 214
    hidden_blocks: 3
    signals: login_wall
    rendered: true
    blocked_requests: 2 (10.0.0.5 2 address_not_public)
    total_chars: 30112
    content_hash: 9c1185a5c5e9fc54
    untrusted_page_text 5f0c92ab:
    …
    end 5f0c92ab

A key whose value says nothing (zero, empty, false) is left out. The structured content holds the same keys without page text. ` + "`isError`" + ` is true if status is not ok.

- hidden_chars, hidden_blocks: text left out because nobody could see it; hidden_chars is null where nothing was laid out (engine http, and auto where it did not ask the browser), so that hidden text could be recognised only in part
- signals: guesses at what kind of answer this is: soft_404 (it says that there is no such page), login_wall, captcha, consent_wall (it shows these instead of its contents), low_content (hardly any text), hidden_text (much text drawn where nobody can see it)
- content_hash: of the whole text; the same as before if nothing has changed
- frames_left_out: frames that may not be read, or did not answer
- file_name, size: of a response that was not read, because it is a file to be saved or of another type; the name is the site's word
- text that is no HTML comes as it is, JSON and XML set in lines, feeds as lists, PDFs page by page after lines of the form ⟦page 1⟧; no page can write the brackets ⟦ and ⟧
- in text of a page, a backslash stands before what would be Markdown or HTML that the page spelled out
- blocked_requests: what the page asked for and may not reach, by host; images, media and fonts that reading drops are not counted
- rendered: the page's scripts ran in a browser; false for text files, for pages of engine http, and where a page that showed nothing was read again without scripts
- truncated without next_offset: the rest cannot be had, because the response broke off or the page is too large
- content_type: in quotes if it is none of the usual ones; it is the site's word
- retry_after_ms: when to try again, if status is busy
- links stand one a line, ` + "`- \"text\" -> URL`" + `, and at most 12,000 characters of them a call

`

const digestForm = `## The form of a digest

What the tools of a session answer: "key: value" lines, then the page as it is now. Each string of the page is one line, in quotes or escaped, and capped; the whole has at most 7,500 bytes.

    status: ok
    effect: clicked button "Add to cart": 1 element added; text changed
    Page: Lamp — Shop
    URL: https://shop.example/lamp   HTTP 200
    Generation: 7 (pass as "generation" to browser_click/browser_fill)
    Events: dialog dismissed: confirm "Leave?"; download refused: "prices.pdf"; 3 requests blocked (ads.example)
    shown: page 2; also open: page 1 https://shop.example/

    Interactive elements:
    [0] link "Products" -> /products
    [2] input(email) "Work email"
    [3] input(password) "Password" ⚠ fill-protected
    [5] select "Plan" = "Starter" [Starter, Pro, Enterprise]
    [7] button "Delete" in row "Invoice 3 · $40"
    (elements 0-99 of 143; browser_state offset=100 for the rest)

    untrusted_page_text 8f3a91c2 (first 1200 of 9400 chars; browser_extract for more):
    …
    end 8f3a91c2

- effect: what an act has changed, or ` + "`no visible change`" + `
- after an act, what has changed since the digest before stands instead of the whole, if that takes less than half: "Changes since generation 6", with new, changed and gone elements and changed lines; browser_state always answers in full
- detail: what stood in the way: what an element was and what it is now, what covers it, which options there are
- old: the page does not respond any more; this is what was seen last

`
