package jail

func (s *second) filter() error { return nil }

func (s *second) landlock() error { return nil }

func (e *Error) explain() {}
