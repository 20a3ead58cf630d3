package pool

import (
	"sync"
	"time"
)

// Limit is an amount that is there again after some time, evenly.
type Limit struct {
	Amount int64
	Per    time.Duration
}

// Meter measures what tenants use of a limit. The zero value is ready. What it
// remembers of a tenant is forgotten once all of the limit is there again.
type Meter struct {
	mu  sync.Mutex
	all map[string]*level
}

// level is what was left at a point in time. It may be negative.
type level struct {
	left float64
	at   time.Time
}

// manyTenants is from how many on those are looked for that can be forgotten.
const manyTenants = 1024

// level brings a tenant's level up to now. The caller holds m.mu.
func (m *Meter) level(tenant string, l Limit, now time.Time) *level {
	v := m.all[tenant]
	if v == nil {
		if m.all == nil {
			m.all = map[string]*level{}
		}
		if n := len(m.all); n >= manyTenants && n&(n-1) == 0 { // each time it has doubled
			for name, o := range m.all {
				if now.Sub(o.at) >= l.Per && o.left >= 0 {
					delete(m.all, name)
				}
			}
		}
		v = &level{left: float64(l.Amount), at: now}
		m.all[tenant] = v
	}
	if d := now.Sub(v.at); d > 0 { // a clock that went back gives nothing
		v.left = min(v.left+float64(l.Amount)*float64(d)/float64(l.Per), float64(l.Amount))
	}
	v.at = now
	return v
}

// Spend takes n if that much is there, or anything at all if n is 0. Otherwise
// it takes nothing, and returns how long it will be until there is enough.
func (m *Meter) Spend(tenant string, l Limit, n int64, now time.Time) (wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.level(tenant, l, now)
	if lack := float64(max(n, 1)) - v.left; lack > 0 {
		return max(time.Duration(lack*float64(l.Per)/float64(l.Amount)), 1)
	}
	v.left -= float64(n)
	return 0
}

// Charge takes n, also if that much is not there.
func (m *Meter) Charge(tenant string, l Limit, n int64, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.level(tenant, l, now).left -= float64(n)
}

// Tenants returns of how many something is remembered.
func (m *Meter) Tenants() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.all)
}
