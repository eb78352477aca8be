"""What several tests share: robots, differences, stored reference numbers, a slow second algorithm."""
