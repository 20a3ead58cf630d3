//go:build !linux

package sealprobe

import (
	"context"
	"errors"
	"io"

	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/netns"
)

// Enter reports that there is no lab.
func Enter(chrome.Binary) (lab *netns.Lab, code int, done bool, err error) {
	return nil, 0, false, netns.ErrSystem
}

// Native does nothing here.
func Native([]string, io.Reader, io.Writer) int { return 1 }

// things are the sentinels that are no network; there are none here.
type things struct {
	secret   string
	pid, ipc int
}

func setUp([]probe, *ledger) (*things, error) { return nil, errors.ErrUnsupported }
func (t *things) begin(phase)                 {}
func (t *things) written(phase)               {}
func (t *things) sort(func())                 {}
func (t *things) Close()                      {}

func (r *run) unsealedNatives(context.Context) error { return errors.ErrUnsupported }
func (r *run) sealedNatives(context.Context) error   { return errors.ErrUnsupported }
