/** What a stretch of work asked of the services. */
export interface Tally {
  /** Of items, and of entries of the index. */
  tableWrites: number;
  indexWrites: number;
  /** Of these, writes that a condition refused, which are charged as well. */
  refusedWrites: number;
  reads: number;
  dynamoRequests: number;
  /** As they are billed: a request of more than 64 KB is several. */
  sqsRequests: number;
  invocations: number;
}

export function emptyTally(): Tally {
  return {
    tableWrites: 0,
    indexWrites: 0,
    refusedWrites: 0,
    reads: 0,
    dynamoRequests: 0,
    sqsRequests: 0,
    invocations: 0,
  };
}

export function subtract(one: Tally, other: Tally): Tally {
  const left = emptyTally();
  for (const count of Object.keys(left) as (keyof Tally)[]) left[count] = one[count] - other[count];
  return left;
}

export function each(tally: Tally, jobs: number): Tally {
  const one = emptyTally();
  for (const count of Object.keys(one) as (keyof Tally)[]) one[count] = tally[count] / jobs;
  return one;
}
