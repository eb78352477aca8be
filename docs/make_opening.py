"""Draw the moving picture that the README opens with anew: python docs/make_opening.py

Four bundled robots side by side, each through the whole run of its file in the time of the picture.
"""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import sorosim
from sorosim.view.viz.motion import as_group
from sorosim.view.viz.scene import Scene

PICTURE = Path(__file__).resolve().parent / "images" / "robots.webp"
BYTES = 3_000_000
SIZE, COLUMNS = (420, 270), 2
FPS, SECONDS, STILL = 20, 6.0, 0.6  # of which the robots stand still at the end
QUALITY = 72
# bundled robot -> how it is drawn
ROBOTS: dict[str, dict[str, Any]] = {
    "ur5_with_soft_gripper": {},
    "gripper_grasps_sphere": {},
    "underwater_vehicle": {"follow": "centre of mass"},
    "rod_pile": {},
}


def frames(name: str, look: dict[str, Any]) -> list[Image.Image]:
    """Pictures of a robot's run, evenly over it, then of its end."""
    group = as_group(sorosim.simulate(sorosim.load(name)))
    moving, resting = round(FPS * (SECONDS - STILL)), round(FPS * STILL)
    with Scene(group, size=SIZE, axes=False, colour="plain", occlusion=True, **look) as scene:
        scene.fit_motions()
        images = []
        for t in np.linspace(group.t[0], group.t[-1], moving):
            scene.update(*group.state(float(t)))
            images.append(Image.fromarray(scene.image()))
    return images + images[-1:] * resting


def main() -> None:
    """Draw, join and write."""
    runs = [frames(name, look) for name, look in ROBOTS.items()]
    pictures = []
    for images in zip(*runs, strict=True):
        whole = Image.new("RGB", (COLUMNS * SIZE[0], -(-len(images) // COLUMNS) * SIZE[1]), "white")
        for k, image in enumerate(images):
            whole.paste(image, (k % COLUMNS * SIZE[0], k // COLUMNS * SIZE[1]))
        pictures.append(whole)
    pictures[0].save(
        PICTURE, save_all=True, append_images=pictures[1:], duration=1000 // FPS, loop=0, quality=QUALITY, method=6
    )
    size = PICTURE.stat().st_size
    print(f"{PICTURE.name}: {size / 1e6:.2f} MB")
    assert size < BYTES


if __name__ == "__main__":
    main()
