package testweb

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"io"
	"net/http"
	"sync"
)

// encoder writes one HTTP content coding. Close ends the stream, not the
// writer below.
type encoder interface {
	io.WriteCloser
	// Repeat writes n copies of b, in as little space as the coding allows
	// without effort: the stuff of decompression bombs.
	Repeat(b byte, n int) error
}

// newEncoder returns the encoder of a coding: "gzip", "deflate" (which in HTTP
// means zlib, RFC 9110 §8.4.1.2), "br" or "zstd".
func newEncoder(coding string, w io.Writer) (encoder, error) {
	switch coding {
	case "gzip":
		return newDeflater(w, gzipHead, crc32.NewIEEE()), nil
	case "deflate":
		return newDeflater(w, zlibHead, adler32.New()), nil
	case "br":
		return &brotli{w: w}, nil
	case "zstd":
		return &zstd{w: w}, nil
	}
	return nil, fmt.Errorf("testweb: unknown content coding %q", coding)
}

// encode compresses all of body.
func encode(coding string, body []byte) ([]byte, error) {
	var b bytes.Buffer
	e, err := newEncoder(coding, &b)
	if err != nil {
		return nil, err
	}
	if _, err := e.Write(body); err != nil {
		return nil, err
	}
	err = e.Close()
	return b.Bytes(), err
}

// Heads of the two wrappings of deflate: RFC 1952 §2.3 without a name or a
// time, RFC 1950 §2.2 with the usual window.
const (
	gzipHead = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
	zlibHead = "\x78\x9c"
)

// deflater writes gzip or zlib. What is to be repeated it compresses once: the
// standard library's writers would do so each time, which under the race
// detector takes seconds for a bomb.
type deflater struct {
	w    io.Writer
	head string // not yet written
	sum  hash.Hash32
	gzip bool
	size uint32
}

func newDeflater(w io.Writer, head string, sum hash.Hash32) *deflater {
	return &deflater{w: w, head: head, sum: sum, gzip: head == gzipHead}
}

func (e *deflater) Write(p []byte) (int, error) {
	if err := e.copies(p, 1); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (e *deflater) Repeat(b byte, n int) error {
	block := bytes.Repeat([]byte{b}, min(n, 1<<20))
	if err := e.copies(block, n/max(1, len(block))); err != nil {
		return err
	}
	return e.copies(block[:n%max(1, len(block))], 1)
}

// copies writes n copies of block.
func (e *deflater) copies(block []byte, n int) error {
	var packed bytes.Buffer
	packed.WriteString(e.head)
	head := packed.Len()
	f, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		return err
	}
	f.Write(block)
	f.Flush() // ends on a whole byte; looks back at nothing but the block
	for b := packed.Bytes(); n > 0; n-- {
		if _, err := e.w.Write(b); err != nil {
			return err
		}
		b, e.head = packed.Bytes()[head:], ""
		e.sum.Write(block)
		e.size += uint32(len(block))
	}
	return nil
}

// Close writes an empty last block and the sum.
func (e *deflater) Close() error {
	end := append([]byte(e.head), 1, 0, 0, 0xff, 0xff)
	if e.gzip {
		end = binary.LittleEndian.AppendUint32(end, e.sum.Sum32())
		end = binary.LittleEndian.AppendUint32(end, e.size)
	} else {
		end = binary.BigEndian.AppendUint32(end, e.sum.Sum32())
	}
	_, err := e.w.Write(end)
	return err
}

// brotli writes a stream of RFC 7932 that needs no compressor: uncompressed
// meta-blocks, and meta-blocks whose every prefix code has one symbol, so that
// each literal costs no bit at all: 16 MiB of one byte in about 18 bytes.
type brotli struct {
	w       io.Writer
	started bool
	out     []byte
	acc     uint64
	bits    uint
}

// put appends the n low bits of v, least significant first.
func (e *brotli) put(v uint64, n uint) {
	e.acc |= v << e.bits
	for e.bits += n; e.bits >= 8; e.bits -= 8 {
		e.out = append(e.out, byte(e.acc))
		e.acc >>= 8
	}
}

func (e *brotli) align() {
	if e.bits > 0 {
		e.put(0, 8-e.bits)
	}
}

// header begins a meta-block that is not the last, of n bytes, n <= 1<<24
// (§9.2). The stream header before the first one is the single bit 0: a window
// of 64 KiB, which is never looked back into.
func (e *brotli) header(n int) {
	if !e.started {
		e.started = true
		e.put(0, 1)
	}
	nibbles := uint(4)
	for ; n-1 >= 1<<(4*nibbles); nibbles++ {
	}
	e.put(0, 1)                   // ISLAST
	e.put(uint64(nibbles-4), 2)   // MNIBBLES
	e.put(uint64(n-1), 4*nibbles) // MLEN - 1
}

func (e *brotli) flush() error {
	_, err := e.w.Write(e.out)
	e.out = e.out[:0]
	return err
}

func (e *brotli) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		n := min(len(p), 1<<16)
		e.header(n)
		e.put(1, 1) // ISUNCOMPRESSED
		e.align()
		e.out = append(e.out, p[:n]...)
		if err := e.flush(); err != nil {
			return written, err
		}
		written, p = written+n, p[n:]
	}
	return written, nil
}

// minInsert is the base of insert length code 23, the only one that Repeat
// uses (§5): 22594 plus 24 extra bits.
const minInsert = 22594

func (e *brotli) Repeat(b byte, n int) error {
	for n >= minInsert {
		k := min(n, 1<<24)
		e.header(k)
		e.put(0, 1) // not uncompressed
		e.put(0, 3) // one block type each of literals, commands, distances
		e.put(0, 6) // NPOSTFIX, NDIRECT
		e.put(0, 2) // context mode of the one literal block type
		e.put(0, 2) // one literal tree, one distance tree
		e.single(uint64(b), 8)
		// Command 504: insert length code 23, copy length code 0. The
		// copy is never made, because the literals fill the meta-block.
		e.single(504, 10)
		e.single(0, 6)
		e.put(uint64(k-minInsert), 24)
		n -= k
	}
	if err := e.flush(); err != nil {
		return err
	}
	_, err := e.Write(bytes.Repeat([]byte{b}, n))
	return err
}

// single writes a simple prefix code with one symbol (§3.4).
func (e *brotli) single(symbol uint64, bits uint) {
	e.put(1, 2) // simple
	e.put(0, 2) // NSYM - 1
	e.put(symbol, bits)
}

func (e *brotli) Close() error {
	if !e.started {
		e.put(0, 1)
	}
	e.put(3, 2) // ISLAST, ISLASTEMPTY
	e.align()
	return e.flush()
}

// zstd writes one frame of RFC 8878 with raw and run-length blocks only.
type zstd struct {
	w       io.Writer
	started bool
}

// zstdBlock is the most that one block may hold (§3.1.1.2.3).
const zstdBlock = 128 << 10

// block writes a block header with its content. kind is 0 (raw) or 1 (run).
func (e *zstd) block(last, kind uint32, n int, content []byte) error {
	var out []byte
	if !e.started {
		e.started = true
		// Magic number; a frame header without checksum or content
		// size; a window of 128 KiB.
		out = append(out, 0x28, 0xb5, 0x2f, 0xfd, 0x00, 7<<3)
	}
	var h [4]byte
	binary.LittleEndian.PutUint32(h[:], last|kind<<1|uint32(n)<<3)
	out = append(out, h[:3]...)
	_, err := e.w.Write(append(out, content...))
	return err
}

func (e *zstd) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		n := min(len(p), zstdBlock)
		if err := e.block(0, 0, n, p[:n]); err != nil {
			return written, err
		}
		written, p = written+n, p[n:]
	}
	return written, nil
}

func (e *zstd) Repeat(b byte, n int) error {
	for n > 0 {
		k := min(n, zstdBlock)
		if err := e.block(0, 1, k, []byte{b}); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

func (e *zstd) Close() error { return e.block(1, 0, 0, nil) }

func serveCoded(w http.ResponseWriter, _ *http.Request, p params) {
	coding := p.Str("coding", "gzip")
	body, err := encode(coding, page("Compressed", "<p>compressed hello"))
	if err != nil {
		http.Error(w, "no such coding", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Encoding", coding)
	send(w, "text/html; charset=utf-8", body)
}

// bombs remembers the bombs made so far, by coding and size.
var bombs sync.Map

// serveBomb serves a page whose text is one letter, over and over.
func serveBomb(w http.ResponseWriter, _ *http.Request, p params) {
	coding, mib := p.Str("coding", "gzip"), min(max(p.Int("mib", 64), 1), 4096)
	key := fmt.Sprint(coding, mib)
	body, ok := bombs.Load(key)
	if !ok {
		b, err := bomb(coding, mib<<20)
		if err != nil {
			http.Error(w, "no such coding", http.StatusNotFound)
			return
		}
		body, _ = bombs.LoadOrStore(key, b)
	}
	w.Header().Set("Content-Encoding", coding)
	send(w, "text/html; charset=utf-8", body.([]byte))
}

func bomb(coding string, n int) ([]byte, error) {
	var b bytes.Buffer
	e, err := newEncoder(coding, &b)
	if err != nil {
		return nil, err
	}
	if _, err := e.Write(page("Bomb", "<p>")); err != nil {
		return nil, err
	}
	if err := e.Repeat('o', n); err != nil {
		return nil, err
	}
	err = e.Close()
	return b.Bytes(), err
}
