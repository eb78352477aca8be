"""Pictures of robots and of their motion: 3D scenes and movies (pyvista), plots (matplotlib)."""
