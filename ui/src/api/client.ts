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

export function address(path: string): string {
  return new URL(`../api/v1/${path}`, location.origin + location.pathname).toString();
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

export async function open(path: string, signal?: AbortSignal): Promise<Response> {
  const reply = await fetch(address(path), { headers: authorization(), signal: signal ?? null });
  if (!reply.ok) throw await refusal(reply);
  return reply;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await open(path, signal)).json()) as T;
}
