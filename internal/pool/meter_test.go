package pool_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellglass/bellglass/internal/pool"
)

func TestMeterCountsPages(t *testing.T) {
	var m pool.Meter
	l, now := pool.Limit{Amount: 6, Per: time.Minute}, time.Unix(1000, 0)
	for i := range 6 {
		if wait := m.Spend("a", l, 1, now); wait != 0 {
			t.Fatalf("page %d waits %v", i, wait)
		}
	}
	if wait := m.Spend("a", l, 1, now); wait != 10*time.Second {
		t.Errorf("the seventh waits %v", wait)
	}
	if wait := m.Spend("b", l, 1, now); wait != 0 {
		t.Errorf("another tenant waits %v", wait)
	}
	if wait := m.Spend("a", l, 1, now.Add(10*time.Second)); wait != 0 {
		t.Errorf("after the wait: %v", wait)
	}
}

func TestMeterLetsDebtBePaid(t *testing.T) {
	var m pool.Meter
	l, now := pool.Limit{Amount: 3600, Per: time.Hour}, time.Unix(1000, 0)
	if wait := m.Spend("a", l, 0, now); wait != 0 {
		t.Fatal(wait)
	}
	m.Charge("a", l, 7200, now)
	if wait := m.Spend("a", l, 0, now); wait != time.Hour+time.Second {
		t.Errorf("waits %v", wait)
	}
	if wait := m.Spend("a", l, 0, now.Add(2*time.Hour)); wait != 0 {
		t.Errorf("later: %v", wait)
	}
}

// TestMeterWhenTheClockJumps: back costs nobody anything, forward gives no more
// than the limit.
func TestMeterWhenTheClockJumps(t *testing.T) {
	var m pool.Meter
	l, now := pool.Limit{Amount: 2, Per: time.Minute}, time.Unix(1e9, 0)
	m.Spend("a", l, 1, now)
	if wait := m.Spend("a", l, 1, now.Add(-24*time.Hour)); wait != 0 {
		t.Errorf("back a day: %v", wait)
	}
	if wait := m.Spend("a", l, 1, now.Add(-24*time.Hour)); wait != 30*time.Second {
		t.Errorf("the third: %v", wait)
	}
	for range 2 {
		if wait := m.Spend("a", l, 1, now.Add(24*time.Hour)); wait != 0 {
			t.Errorf("on a day: %v", wait)
		}
	}
	if wait := m.Spend("a", l, 1, now.Add(24*time.Hour)); wait == 0 {
		t.Error("a day gave more than the limit")
	}
}

func TestMeterForgetsTenants(t *testing.T) {
	var m pool.Meter
	l, now := pool.Limit{Amount: 2, Per: time.Minute}, time.Unix(1000, 0)
	for i := range 1 << 14 {
		m.Spend(fmt.Sprint(i), l, 1, now.Add(time.Duration(i)*time.Second))
	}
	if n := m.Tenants(); n > 2048 {
		t.Errorf("%d tenants are remembered", n)
	}
}
