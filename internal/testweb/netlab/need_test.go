package netlab

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// outcome is a TB that notes how a test would end.
type outcome struct{ said string }

func (o *outcome) Helper()        {}
func (o *outcome) Cleanup(func()) {}
func (o *outcome) Fatalf(format string, args ...any) {
	o.said = "fail: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}
func (o *outcome) Skipf(format string, args ...any) {
	o.said = "skip: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestWithoutALabTestsSkipExceptUnderCI(t *testing.T) {
	lab, reason := here, absent
	defer func() { here, absent = lab, reason }()
	for _, tc := range []struct {
		ci     string
		absent error
		want   string
	}{
		{"", errors.New("namespaces refused"), "skip: namespaces refused"},
		{"true", errors.New("namespaces refused"), "fail: this test must not be skipped under CI: namespaces refused"},
		{"", nil, "skip: netlab: TestMain does not call netlab.Main"},
	} {
		t.Setenv("CI", tc.ci)
		here, absent = nil, tc.absent
		var o outcome
		done := make(chan struct{})
		go func() {
			defer close(done)
			Need(&o)
		}()
		<-done
		if o.said != tc.want {
			t.Errorf("CI=%q, absent %v: %q, want %q", tc.ci, tc.absent, o.said, tc.want)
		}
	}
}

func TestAvailableNamesTheReason(t *testing.T) {
	if err := Available(); err != nil && !strings.HasPrefix(err.Error(), "netlab: ") {
		t.Errorf("reason %v", err)
	}
}
