// SPDX-License-Identifier: Apache-2.0
// The address that `berth up` prints carries a token after "#token=". It is taken out of the address
// at once, so that a copied link does not give it away, and kept for this tab.

const KEY = 'berth.token';

/** The token in a fragment, and the fragment without it. */
export function takeToken(hash: string): { token: string | null; rest: string } {
  const match = /^#(?:(.*)&)?token=([^&]+)(?:&(.*))?$/.exec(hash);
  if (!match) return { token: null, rest: hash };
  const rest = [match[1], match[3]].filter(Boolean).join('&');
  return { token: decodeURIComponent(match[2] ?? ''), rest: rest ? `#${rest}` : '' };
}

export function rememberToken(): void {
  const { token, rest } = takeToken(location.hash);
  if (token === null) return;
  sessionStorage.setItem(KEY, token);
  history.replaceState(null, '', location.pathname + location.search + rest);
}

export function authorization(): Record<string, string> {
  const token = sessionStorage.getItem(KEY);
  return token ? { Authorization: `Bearer ${token}` } : {};
}

const CHOSEN = 'berth.namespace';
export function rememberNamespace(namespace: string): void {
  sessionStorage.setItem(CHOSEN, namespace);
}
export function rememberedNamespace(): string {
  return sessionStorage.getItem(CHOSEN) ?? '';
}

/** Of the service account that a token is of; "": nobody can tell. */
export function namespaceOf(token: string): string {
  try {
    const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
    const { sub } = JSON.parse(atob(payload)) as { sub?: string };
    return /^system:serviceaccount:([^:]+):/.exec(sub ?? '')?.[1] ?? '';
  } catch {
    return '';
  }
}
export function ownNamespace(): string {
  return namespaceOf(sessionStorage.getItem(KEY) ?? '');
}
