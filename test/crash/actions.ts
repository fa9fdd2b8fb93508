// What people do in a crash test, as it goes to a gateway process, and what they hear.

type Who = { holder: string; by: string };

export type Action = Who &
  (
    | { name: 'arm'; place: string }
    | { name: 'refund'; ref: string; amount: string; form: string }
    | { name: 'approve refund' | 'cancel refund' | 'approve file' | 'approve decision' | 'reverse'; ref: string }
    | { name: 'hold back'; basisPoints: number }
    /** What is due of the reserve, of all holders. */
    | { name: 'release reserve' }
    | { name: 'open dispute'; ref: string }
    | { name: 'order file'; file: string; rows: { amount: string; mobile: string }[] }
    | { name: 'settle'; period: string }
    | { name: 'confirm settlement'; ref: string; bank: string }
    /** `ref` is the id of the case. */
    | { name: 'propose'; ref: string; decision: string }
  );

export type ActionAnswer = { ok: true; value: string } | { ok: false; code: string };
