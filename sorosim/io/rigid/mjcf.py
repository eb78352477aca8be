def read_mjcf(*a, **k): raise NotImplementedError
