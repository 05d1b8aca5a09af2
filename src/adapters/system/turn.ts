/** Once everything has run that can run now: what is asked for in one turn of the event loop is then known. */
export function afterThisTurn(work: () => void): void {
  setImmediate(work);
}
