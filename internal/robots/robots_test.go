package robots

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRFC9309 goes through the RFC: sections in the names.
func TestRFC9309(t *testing.T) {
	const me = "ExampleBot"
	for _, k := range []struct {
		name, file string
		allowed    []string
		refused    []string
	}{
		{"2.2.1 a group by name", "user-agent: examplebot\ndisallow: /a\n\nuser-agent: *\ndisallow: /b", []string{"/b"}, []string{"/a"}},
		{"2.2.1 case", "USER-AGENT: EXAMPLEBOT\nDISALLOW: /a", []string{"/A"}, []string{"/a"}},
		{"2.2.1 version in the token", "user-agent: ExampleBot/2.1\ndisallow: /", nil, []string{"/"}},
		{"2.2.1 no prefix of a name", "user-agent: Example\ndisallow: /", []string{"/"}, nil},
		{"2.2.1 no longer name", "user-agent: ExampleBotNews\ndisallow: /", []string{"/"}, nil},
		{"2.2.1 groups of one name are one", "user-agent: examplebot\ndisallow: /a\nuser-agent: *\ndisallow: /\nuser-agent: examplebot\ndisallow: /b", []string{"/c"}, []string{"/a", "/b"}},
		{"2.2.1 several names", "user-agent: other\nuser-agent: examplebot\ndisallow: /a", nil, []string{"/a"}},
		{"2.2.1 everybody else", "user-agent: other\ndisallow: /\nuser-agent: *\ndisallow: /a", []string{"/"}, []string{"/a"}},
		{"2.2.1 nobody", "user-agent: other\ndisallow: /", []string{"/"}, nil},
		{"2.2.1 a named group without rules", "user-agent: examplebot\nuser-agent: x\nallow: /\nuser-agent: *\ndisallow: /", []string{"/"}, nil},
		{"2.2.1 rules before any group", "disallow: /\nuser-agent: *\ndisallow: /a", []string{"/"}, []string{"/a"}},
		{"2.2.2 the longest decides", "user-agent: *\nallow: /page\ndisallow: /\nallow: /a/b\ndisallow: /a/b/c", []string{"/page", "/a/b"}, []string{"/a", "/a/b/c/d"}},
		{"2.2.2 of equals the one that allows", "user-agent: *\ndisallow: /p\nallow: /p", []string{"/p", "/page"}, []string(nil)},
		{"2.2.2 an empty rule", "user-agent: *\ndisallow:", []string{"/"}, nil},
		{"2.2.2 from the start", "user-agent: *\ndisallow: /a", []string{"/b/a", "/A"}, []string{"/a", "/ab", "/a?b"}},
		{"2.2.2 the query", "user-agent: *\ndisallow: /*?id=", []string{"/x", "/x?y=1"}, []string{"/x?id=1", "/?id="}},
		{"2.2.2 UTF-8 and escapes", "user-agent: *\ndisallow: /foo/bar/ツ\ndisallow: /b/%E3%83%84", nil, []string{"/foo/bar/%E3%83%84", "/foo/bar/ツ", "/b/ツ", "/b/%e3%83%84"}},
		{"2.2.2 unreserved characters", "user-agent: *\ndisallow: /%7Ejoe\ndisallow: /b/~joe\ndisallow: /c/%62%61%7A", nil, []string{"/~joe", "/%7ejoe", "/b/%7Ejoe", "/c/baz"}},
		{"2.2.2 reserved characters", "user-agent: *\ndisallow: /a%2Fb", []string{"/a/b"}, []string{"/a%2fb"}},
		{"2.2.3 a comment", "user-agent: * # all\ndisallow: /a # not here\n# disallow: /b", []string{"/b"}, []string{"/a"}},
		{"2.2.3 the end", "user-agent: *\ndisallow: /this/path/exactly$\ndisallow: /*.gif$", []string{"/this/path/exactly/x", "/a.gif?b"}, []string{"/this/path/exactly", "/x/a.gif"}},
		{"2.2.3 asterisks", "user-agent: *\ndisallow: /a/*/exactly\ndisallow: /*.php", []string{"/a/exactly", "/php"}, []string{"/a/b/exactly", "/a/b/c/exactly/d", "/x/y.php?z"}},
		{"2.2.3 asterisk and end", "user-agent: *\ndisallow: /a*b$", []string{"/abc"}, []string{"/ab", "/axb", "/abxb"}},
		{"2.2.3 escaped", "user-agent: *\ndisallow: /a%2A\ndisallow: /b%24", []string{"/ax", "/b"}, []string{"/a%2a", "/b%24"}},
		{"2.2.3 many asterisks", "user-agent: *\ndisallow: /**a***b", []string{"/b"}, []string{"/ab", "/xaxb"}},
		{"2.2.4 other records", "user-agent: examplebot\ncrawl-delay: 5\nsitemap: https://x/\nuser-agent: other\ndisallow: /a\nsitemap: y\ndisallow: /b", nil, []string{"/a", "/b"}},
		{"2.3.1.1 itself", "user-agent: *\ndisallow: /", nil, []string{"/", "/robots.txt.gz"}},
		{"2.5 line ends and space", "\xef\xbb\xbfuser-agent:*\rdisallow :/a\r\n  allow:\t/a/b  \n", []string{"/a/b"}, []string{"/a"}},
		{"no file but a page", "<!doctype html><title>user-agent: *</title>\n<p>disallow: /", []string{"/"}, nil},
		{"a broken line voids no other", "user-agent *\nuser-agent: *\ndisallow /x\n:\ndisallow: /a", []string{"/x"}, []string{"/a"}},
	} {
		r := Parse([]byte(k.file))
		for _, path := range k.allowed {
			if v := r.Check([]string{me}, path); !v.Allowed {
				t.Errorf("%s: %s is refused by line %d", k.name, path, v.Line)
			}
		}
		for _, path := range k.refused {
			if v := r.Check([]string{me}, path); v.Allowed {
				t.Errorf("%s: %s is allowed", k.name, path)
			}
		}
	}
	if v := Parse([]byte("user-agent: *\ndisallow: /")).Check(nil, "/robots.txt"); !v.Allowed {
		t.Error("the file itself is refused")
	}
	if v := (*Rules)(nil).Check(nil, "/"); !v.Allowed {
		t.Error("no rules refuse")
	}
	got := Parse([]byte("# a\r\nuser-agent: *\r\n\r\ndisallow: /a\r\nallow: /a/b\r\n")).Check(nil, "/a/b")
	if diff := cmp.Diff(Verdict{Allowed: true, Line: 5}, got); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

func TestSizeIsBounded(t *testing.T) {
	file := "user-agent: *\ndisallow: /a\n" + strings.Repeat("# filler\n", MaxBytes/9) + "disallow: /b\n"
	r := Parse([]byte(file))
	if r.Check(nil, "/a").Allowed || !r.Check(nil, "/b").Allowed {
		t.Error("the first 500 KiB are read, and no more")
	}
	// As many asterisks as fit, against the longest path that there is.
	hard := Parse([]byte("user-agent: *\n" + strings.Repeat("disallow: /"+strings.Repeat("*a", 2000)+"b$\n", 120)))
	start := time.Now()
	hard.Check(nil, "/"+strings.Repeat("a", 2048))
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestCorpus reads real files: nothing breaks, and the rules that are there are
// found, as a plain reading of the file for everybody has them.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("BELLGLASS_CORPORA")
	if dir == "" {
		t.Skip("BELLGLASS_CORPORA is not set: no real files to read")
	}
	files, err := filepath.Glob(filepath.Join(dir, "robots", "*"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	asked, rules := 0, 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r := Parse(b)
		all, _ := r.of([]string{"*"})
		rules += len(all)
		for _, x := range all {
			if strings.Contains(x.pattern, "*") {
				continue
			}
			// A path that is a pattern itself is decided by it, or by one as
			// long that allows, or by a longer one with an asterisk.
			v := r.Check(nil, x.pattern)
			asked++
			if v.Line == 0 {
				t.Errorf("%s: line %d does not match itself", filepath.Base(name), x.line)
			}
			for _, y := range all {
				if y.line == v.Line && y.line != x.line && len(y.pattern) < len(x.pattern) {
					t.Errorf("%s: line %d, which is shorter, decides for line %d", filepath.Base(name), y.line, x.line)
				}
			}
		}
	}
	t.Logf("%d files, %d rules for everybody, %d paths asked", len(files), rules, asked)
	if rules < 1000 {
		t.Errorf("only %d rules were found", rules)
	}
}

func TestCacheAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			c     Cache
			asked atomic.Int32
			wg    sync.WaitGroup
		)
		ask := func(context.Context) (Answer, error) {
			asked.Add(1)
			time.Sleep(time.Second)
			return Answer{Rules: Parse(nil), Status: 200, Keep: time.Hour}, nil
		}
		for range 10 {
			wg.Go(func() {
				if _, err := c.Get(t.Context(), "a", ask); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if _, ok := c.Peek("a"); !ok || asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
		time.Sleep(time.Hour)
		if _, ok := c.Peek("a"); ok {
			t.Error("it is kept for too long")
		}
		c.Get(t.Context(), "b", ask)
		if asked.Load() != 2 {
			t.Error("another origin is not asked")
		}
	})
}

func TestCacheKeepsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Cache
		bad := errors.New("no")
		first := make(chan struct{})
		go func() {
			defer close(first)
			if _, err := c.Get(t.Context(), "a", func(context.Context) (Answer, error) { time.Sleep(time.Second); return Answer{}, bad }); !errors.Is(err, bad) {
				t.Error(err)
			}
		}()
		synctest.Wait()
		a, err := c.Get(t.Context(), "a", func(context.Context) (Answer, error) { return Answer{Status: 404, Keep: time.Minute}, nil })
		if err != nil || a.Status != 404 {
			t.Errorf("who waited got %v %v", a, err)
		}
		<-first
		ctx, cancel := context.WithCancelCause(t.Context())
		go c.Get(t.Context(), "slow", func(context.Context) (Answer, error) { time.Sleep(time.Hour); return Answer{}, bad })
		synctest.Wait()
		cancel(bad)
		if _, err := c.Get(ctx, "slow", nil); !errors.Is(err, bad) {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
	})
}

// TestCacheOutlivesAnOutage: what an origin said last holds while it answers
// 503, for a day.
func TestCacheOutlivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Cache
		say := func(a Answer) Answer {
			got, err := c.Get(t.Context(), "a", func(context.Context) (Answer, error) { return a, nil })
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		say(Answer{Status: 200, Rules: Parse([]byte("user-agent: *\ndisallow: /a")), Keep: time.Hour})
		time.Sleep(2 * time.Hour)
		if a := say(Answer{Status: 503, Keep: time.Minute}); a.Unreachable() || a.Rules.Check(nil, "/a").Allowed {
			t.Errorf("after two hours: %+v", a)
		}
		time.Sleep(23 * time.Hour)
		if a := say(Answer{Status: 503, Keep: time.Minute}); !a.Unreachable() {
			t.Errorf("after a day: %+v", a)
		}
	})
}

func TestCacheIsBounded(t *testing.T) {
	var c Cache
	for i := range maxEntries + 100 {
		c.Get(t.Context(), fmt.Sprint(i), func(context.Context) (Answer, error) { return Answer{Status: 404, Keep: time.Hour}, nil })
	}
	if n := len(c.entries); n > maxEntries {
		t.Errorf("%d entries", n)
	}
}

// FuzzRobots: no file breaks the parser, and asking twice, or for another
// spelling of the same path, gives the same answer.
func FuzzRobots(f *testing.F) {
	f.Add("user-agent: *\ndisallow: /a*b$\nallow: /%7Ex", "/a?b", "bot")
	f.Add("User-Agent: bot/1\rAllow:/\xff\nDisallow: *", "/ツ", "BOT")
	f.Fuzz(func(t *testing.T, file, path, token string) {
		r := Parse([]byte(file))
		v := r.Check([]string{token}, path)
		if again := Parse([]byte(file)).Check([]string{token}, path); again != v {
			t.Errorf("%v, then %v", v, again)
		}
		if path != "/robots.txt" && normal(path) != "/robots.txt" {
			if other := r.Check([]string{token}, normal(path)); other != v {
				t.Errorf("%q: %v, but %q: %v", path, v, normal(path), other)
			}
		}
		if !v.Allowed && v.Line == 0 {
			t.Error("refused by no line")
		}
	})
}
