// SPDX-License-Identifier: Apache-2.0
// Single questions to the gateway.
import { authorization } from './token';
import type { Refusal } from './types';

export class ApiError extends Error {
  constructor(
    message: string,
    readonly code: number,
    readonly reason: string,
  ) {
    super(message);
  }
}

/** Below /api/v1, or from the gateway's root where it begins with a slash. */
export function address(path: string): string {
  const below = path.startsWith('/') ? `..${path}` : `../api/v1/${path}`;
  return new URL(below, location.origin + location.pathname).toString();
}

async function refusal(reply: Response): Promise<ApiError> {
  const text = await reply.text();
  try {
    const said = JSON.parse(text) as Refusal;
    return new ApiError(said.message, reply.status, said.reason ?? '');
  } catch {
    return new ApiError(text || reply.statusText, reply.status, '');
  }
}

export interface Asking {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export async function open(path: string, { method = 'GET', body, headers = {}, signal }: Asking = {}): Promise<Response> {
  const reply = await fetch(address(path), {
    method,
    headers: { ...authorization(), ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
  });
  if (!reply.ok) throw await refusal(reply);
  return reply;
}

export async function ask<T>(path: string, asking: Asking = {}): Promise<T> {
  return (await (await open(path, asking)).json()) as T;
}
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return ask<T>(path, signal ? { signal } : {});
}
