package plain

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// maxCodings is how many codings one body may be in. More than one is hardly
// ever seen; each multiplies what a small body can grow to.
const maxCodings = 2

// zstdWindow is the largest window a server may use (RFC 9659), and with it
// what decoding costs in memory.
const zstdWindow = 8 << 20

// decode undoes content codings, last one first. The caller bounds what is
// read of the result: none of the decoders reads ahead by more than its
// window.
func decode(body io.Reader, fields []string) (io.ReadCloser, error) {
	var codings []string
	for _, f := range fields {
		for c := range strings.SplitSeq(f, ",") {
			switch c = strings.ToLower(strings.TrimSpace(c)); c {
			case "", "identity":
			default:
				codings = append(codings, c)
			}
		}
	}
	if len(codings) > maxCodings {
		return nil, fmt.Errorf("%w: %d of them", ErrCoding, len(codings))
	}
	out := io.NopCloser(body)
	for i := len(codings) - 1; i >= 0; i-- {
		var err error
		if out, err = decoder(codings[i], out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func decoder(coding string, r io.Reader) (io.ReadCloser, error) {
	switch coding {
	case "gzip", "x-gzip":
		return gzip.NewReader(r)
	case "deflate": // zlib by RFC 9110; raw deflate is sent, too
		br := bufio.NewReader(r)
		head, err := br.Peek(2)
		if err != nil {
			return nil, err
		}
		if head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
			return zlib.NewReader(br)
		}
		return flate.NewReader(br), nil
	case "br":
		return io.NopCloser(brotli.NewReader(r)), nil
	case "zstd":
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("%w: unknown", ErrCoding)
}
