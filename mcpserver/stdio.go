package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxLine bounds one message of a client, in bytes.
const maxLine = 4 << 20

// lines lets through what can be a message, one a line, and answers everything
// else itself as JSON-RPC 2.0 §5.1 says: the SDK would end the connection at
// the first line that is none.
type lines struct {
	in  *bufio.Reader
	out io.Writer // for errors; shared with the server, see locked
	buf []byte    // of the present line, not read yet
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), out: out}
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.buf) == 0 {
		line, err := l.next()
		if err != nil {
			return 0, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		id, code, wrong := judge(line)
		if wrong == "" {
			l.buf = append(bytes.TrimSpace(line), '\n')
			break
		}
		if _, err := fmt.Fprintf(l.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, wrong); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.buf)
	l.buf = l.buf[n:]
	return n, nil
}

func (l *lines) Close() error { return nil }

// next returns one line; of one that is too long, the beginning, which is no
// JSON. A last line without an end counts.
func (l *lines) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && len(line) == 0:
			return nil, err
		default:
			return line[:min(len(line), maxLine)], nil
		}
	}
}

// Codes of JSON-RPC 2.0 §5.1.
const (
	codeParse   = -32700
	codeRequest = -32600
)

// judge reports what is wrong with a line as a message, and the id to answer
// to. A batch, which older versions of the protocol have, is the SDK's to
// judge if it is an array of objects.
func judge(line []byte) (id string, code int, wrong string) {
	if !json.Valid(line) {
		return "null", codeParse, "not JSON, or too long"
	}
	var batch []map[string]json.RawMessage
	if json.Unmarshal(line, &batch) == nil && len(batch) > 0 {
		for _, m := range batch {
			if id, wrong := judgeOne(m); wrong != "" {
				return id, codeRequest, wrong
			}
		}
		return "", 0, ""
	}
	var one map[string]json.RawMessage
	if json.Unmarshal(line, &one) != nil || one == nil {
		return "null", codeRequest, "not an object"
	}
	id, wrong = judgeOne(one)
	return id, codeRequest, wrong
}

func judgeOne(m map[string]json.RawMessage) (id, wrong string) {
	id = "null"
	if raw, ok := m["id"]; ok {
		switch raw[0] {
		case '{', '[', 't', 'f':
			return id, "the id is neither a string nor a number"
		}
		id = string(raw)
	}
	var version, method string
	if json.Unmarshal(m["jsonrpc"], &version) != nil || version != "2.0" {
		return id, `"jsonrpc" is not "2.0"`
	}
	_, result := m["result"]
	_, failed := m["error"]
	if raw, ok := m["method"]; ok && json.Unmarshal(raw, &method) != nil || !ok && !result && !failed {
		return id, "no method"
	}
	if raw, ok := m["params"]; ok && raw[0] != '{' && raw[0] != '[' && raw[0] != 'n' {
		return id, "params are no object"
	}
	return id, ""
}

// locked lets the server and [lines] write whole messages in turn.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (l *locked) Close() error { return nil }
