package jail

// cgroup is a control group of one jail.
type cgroup struct{ fd int }

func newCgroup(Limits) *cgroup { return nil }

func (c *cgroup) remove() {}

func (j *Jail) watch(Limits) {}
