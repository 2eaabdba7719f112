// SPDX-License-Identifier: Apache-2.0

const stored = 'devicequota-theme';

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem(stored, theme);
}

/** A button that switches between light and dark. The choice stays. */
export function switchBy(button) {
  button.addEventListener('click', () => {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    setTheme(dark ? 'light' : 'dark');
  });
  const theme = localStorage.getItem(stored);
  if (theme) {
    setTheme(theme);
  }
}
