"""A robot that moves while one looks on and takes part: the motion of `sorosim.live`, and its page in the browser."""
