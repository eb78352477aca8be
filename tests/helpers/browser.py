"""A headless Chromium that looks at pages with WebGL, where the machine has one."""

import shutil
import tempfile
from contextlib import contextmanager

FLAGS = (
    "headless=new", "no-sandbox", "disable-gpu", "use-gl=angle", "use-angle=swiftshader", "enable-unsafe-swiftshader",
    "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync",
    "window-size=1280,800",
)  # fmt: skip


def has_browser():
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


@contextmanager
def browser(*flags):
    """A driver of selenium, with a profile of its own, and more flags."""
    from selenium import webdriver

    with tempfile.TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in (*FLAGS, *flags, f"user-data-dir={profile}"):
            options.add_argument(f"--{flag}")
        driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        driver.set_page_load_timeout(120)
        try:
            yield driver
        finally:
            driver.quit()


def close_notices(driver):
    """Close notices, as viser's that a browser draws without a graphics card; returns whether the page is there."""
    from selenium.webdriver.common.by import By

    for button in driver.find_elements(By.CSS_SELECTOR, ".mantine-Notification-closeButton"):
        driver.execute_script("arguments[0].click()", button)
    return bool(driver.find_elements(By.TAG_NAME, "canvas"))


# what the page of the scene logs of itself: a message of a panel that was just built anew; a slider that is dragged
OF_THE_SCENE = "Tried to update non-existent component", "Unable to preventDefault inside passive event listener"


def mistakes(driver):
    """What the console was told, since it was asked last, but for what the scene's own client logs."""
    told = [one["message"] for one in driver.get_log("browser") if one["level"] == "SEVERE"]
    return [one for one in told if not any(words in one for words in OF_THE_SCENE)]
