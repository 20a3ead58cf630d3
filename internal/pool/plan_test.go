package pool_test

import (
	"testing"

	"github.com/bellglass/bellglass/internal/pool"
)

func TestPlan(t *testing.T) {
	needs := pool.Needs{Worker: 256, Lease: 128, PerCPU: 8, MaxWorkers: 16, MaxLeases: 64}
	for _, k := range []struct {
		free            int64
		cpus            int
		workers, leases int
	}{
		{0, 2, 1, 1},
		{300, 2, 1, 1},
		{1024, 2, 4, 6},
		{1 << 20, 2, 16, 16},
		{1 << 20, 64, 16, 64},
		{700, 1, 2, 3},
	} {
		if w, l := pool.Plan(k.free, k.cpus, needs); w != k.workers || l != k.leases {
			t.Errorf("%d bytes, %d processors: %d workers, %d leases, want %d, %d", k.free, k.cpus, w, l, k.workers, k.leases)
		}
	}
}
