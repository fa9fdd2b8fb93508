// Whether this process is about to stop. It still answers everything until it does. But each answer ends its connection, so that
// the next request of that client goes elsewhere, and /readyz says whether a load balancer should ask others.

import { perProcess } from './memory.ts';

export const stopState = perProcess(() => ({ endsConnections: false, isReady: true }));
