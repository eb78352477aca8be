def read_sdf(*a, **k): raise NotImplementedError
