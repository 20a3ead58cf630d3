package pool

// Needs is what a plan reckons with.
type Needs struct {
	Worker, Lease int64 // bytes that one takes
	PerCPU        int   // most leases for each processor
	// The most of each, whatever there is.
	MaxWorkers, MaxLeases int
}

// Plan returns how many workers and leases free bytes and so many processors
// allow: at least one of each.
func Plan(free int64, cpus int, n Needs) (workers, leases int) {
	leases = int(max(1, min((free-n.Worker)/n.Lease, int64(n.PerCPU*cpus), int64(n.MaxLeases))))
	workers = int(max(1, min(free/n.Worker, int64(leases), int64(n.MaxWorkers))))
	return workers, leases
}
