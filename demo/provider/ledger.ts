/** One call as the provider saw it. Its own book: nothing of ours writes here. */
export interface ProviderCall {
  /** The `Idempotency-Key` that came along. */
  readonly key: string;
  readonly subject: string;
  readonly startedAtMs: number;
  /** When the answer was out or the caller had hung up; undefined while neither has happened. */
  endedAtMs?: number;
  /** The status that was answered; undefined when there was no answer. */
  status?: number;
  /** This call made the effect. A repeat under a known key is answered as the first was, with no effect. */
  effect: boolean;
}

/** Nobody can say from the caller's side whether the effect happened: no answer, or a 5xx. */
export function isAmbiguous({ status }: ProviderCall): boolean {
  return status === undefined || status >= 500;
}
