"""What the keys of sensors mean, for `descriptions.py`."""

from __future__ import annotations

SENSORS: dict[str, dict[str, tuple[str, str]]] = {
    "SensorBlock": {
        "strain": ("Torsion, bending_y, bending_z, elongation, shear_y, shear_z of a rod at a place.",
                   "{link: arm, s: 0.5}"),
        "pose": ("Position in the world, and rotation as a unit quaternion [w, x, y, z].", "{link: arm}"),
        "twist": ("Angular rate and velocity in the sensor's axes.", "{link: lid, frame: top}"),
        "acceleration": ("Angular acceleration and acceleration in the sensor's axes.", "{link: arm, s: 0.5}"),
        "imu": ("Angular rate and specific force (acceleration less gravity) in the sensor's axes.",
                "{link: arm, at: {position: [0, 0, 1 cm]}}"),
        "tendon": ("Length and tension of the tendon of this name.", "cable"),
        "joint_wrench": ("Moment and force that the link of this name gets through its joint, in the frame that the "
                         "joint moves.", "lid"),
        "loop_wrench": ("Moment and force of the loop of this name on its frame a, in frame b.", "pin"),
        "load": ("Moments and forces of the load of this name on its points, in their axes.", "push"),
        "rate": ("Samples are taken at the multiples of 1/rate; without it, at every row of a run.", "200 Hz"),
        "noise": ("Standard deviation of Gaussian noise: one for all channels, or a list with one for each.",
                  "[0.01 rad/s, 0.01 rad/s, 0.01 rad/s, 0.1 m/s^2, 0.1 m/s^2, 0.1 m/s^2]"),
        "bias": ("What is added to every sample, as the noise.", "0.02"),
        "seed": ("Whole number that the noise is drawn by; without it, one that follows from the name.", "7"),
    },
    "GaugeBlock": {
        "link": ("Link with a rod.", "arm"), "s": ("Place on it, 0 to 1 (the tip, the default).", "0.5"),
    },
    "MountBlock": {
        "link": ("Link that it sits on.", "lid"), "s": ("Place on a rod, 0 to 1 (the tip, the default).", "0.5"),
        "frame": ("Name of a frame of a rigid link.", "top"),
        "at": ("Pose of the sensor there; `s` and `frame` may stand in it.", "{rotation: {rpy: [0, 0, 90 deg]}}"),
    },
}  # fmt: skip
