package bellglass

import (
	"fmt"
	"time"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/pool"
)

// Isolation says who may use a browser process at the same time.
type Isolation string

const (
	// IsolationTenant: a browser serves one tenant in its life. An idle one of
	// another tenant's makes place for it.
	IsolationTenant Isolation = "tenant"
	// IsolationShared: tenants share browsers, each call in a context of its
	// own. A page that has taken over the browser process can then reach what
	// other tenants may. For set-ups of one tenant, or of tenants that trust
	// each other.
	IsolationShared Isolation = "shared"
)

// Quota bounds what one tenant uses, so that others are not slowed. A call
// beyond it is busy, with [ReasonTenantQuota]. Zero is no limit.
type Quota struct {
	Pages          int   // reads and open sessions at one time
	Sessions       int   // open at one time, whatever [SessionOptions].MaxPerTenant is
	PagesPerMinute int   // reads that are not answered from memory, and navigations
	BytesPerHour   int64 // received and sent; what goes beyond it is counted against the next hour
}

func (q Quota) check() error {
	if q.Pages < 0 || q.Sessions < 0 || q.PagesPerMinute < 0 || q.BytesPerHour < 0 {
		return fmt.Errorf("%+v: nothing in it may be negative", q)
	}
	return nil
}

// quota of a tenant.
func (o *Options) quota(tenant string) Quota {
	if q, ok := o.Quotas[tenant]; ok {
		return q
	}
	return o.Quota
}

// meters are what tenants have used of their quotas lately.
type meters struct{ pages, bytes pool.Meter }

// spend counts one page of a tenant's, or says how long it must wait.
func (b *Browser) spend(tenant string) error {
	q, now := b.o.quota(tenant), time.Now()
	if q.BytesPerHour > 0 {
		if wait := b.meters.bytes.Spend(tenant, pool.Limit{Amount: q.BytesPerHour, Per: time.Hour}, 0, now); wait > 0 {
			return overQuota(wait)
		}
	}
	if q.PagesPerMinute > 0 {
		if wait := b.meters.pages.Spend(tenant, pool.Limit{Amount: int64(q.PagesPerMinute), Per: time.Minute}, 1, now); wait > 0 {
			return overQuota(wait)
		}
	}
	return nil
}

func overQuota(wait time.Duration) error {
	e := reasonError("browse", ReasonTenantQuota, "", nil)
	e.RetryAfter = max(wait.Round(time.Millisecond), time.Millisecond)
	return e
}

// charge counts what a run has moved since before, and returns its new count.
func (b *Browser) charge(run *egress.Run, tenant string, before int64) int64 {
	now := run.Received() + run.Sent()
	if q := b.o.quota(tenant); q.BytesPerHour > 0 && now > before {
		b.meters.bytes.Charge(tenant, pool.Limit{Amount: q.BytesPerHour, Per: time.Hour}, now-before, time.Now())
	}
	return now
}
