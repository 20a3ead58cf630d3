package bellglass

import (
	"testing"

	"github.com/bellglass/bellglass/internal/pool"
)

// TestBusyAlwaysSaysWhenToTryAgain: whichever way an error is made. Answers of
// sessions had a time of their own, screenshots none.
func TestBusyAlwaysSaysWhenToTryAgain(t *testing.T) {
	busyReasons := 0
	for r, k := range reasons {
		e := reasonError("test", r, "", nil)
		if got, want := e.RetryAfter > 0, k.status == StatusBusy; got != want {
			t.Errorf("%s (%s): RetryAfter %v", r, k.status, e.RetryAfter)
		}
		if k.status == StatusBusy {
			busyReasons++
		}
	}
	if busyReasons == 0 {
		t.Fatal("no reason is busy")
	}
	if e := explain("test", pool.ErrBusy, nil); e.RetryAfter <= 0 {
		t.Errorf("a full pool: RetryAfter %v", e.RetryAfter)
	}
	p := Picture{Head: Head{Status: StatusBusy, Reason: ReasonPoolFull, RetryAfter: retryAfter}}
	if got := p.result().Fields["retry_after_ms"]; got != 1000 {
		t.Errorf("a screenshot: retry_after_ms is %v", got)
	}
}
