// What the pages of the console work with.

import type { Deliverer } from '../callbacks/deliver.ts';
import type { Holder } from '../holders/holders.ts';
import type { Member } from '../holders/members.ts';
import type { RequestLog } from '../holders/request-log.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { PaymentServices } from '../payments/routes.ts';
import type { SimulatedOperator } from '../sandbox/simulated-operator.ts';
import { createDailyStats, type DailyStatsReader } from './daily-stats.ts';
import { createExportProgress, type ExportProgress } from './export-progress.ts';

/** The sample shop of a sandbox: found, made and opened. */
export type SampleShopService = {
  find(): Promise<Holder | null>;
  make(): void;
  join(member: Member, shop: Holder): Promise<void>;
};

/** The services of the gateway that the console uses. */
export type GatewayServices = {
  readonly ctx: PaymentsContext;
  readonly payments: PaymentServices;
  readonly deliverer: Deliverer;
  /** Null in live mode. */
  readonly operator: SimulatedOperator | null;
  readonly requestLog: RequestLog;
  /** Null in live mode, and where the process offers none. */
  readonly sampleShop: SampleShopService | null;
};

export type ConsoleServices = GatewayServices & {
  readonly dailyStats: DailyStatsReader;
  readonly exports: ExportProgress;
};

export function createConsoleServices(gateway: GatewayServices): ConsoleServices {
  const { ctx, payments, deliverer, operator, requestLog, sampleShop } = gateway;
  return {
    ctx,
    payments,
    deliverer,
    operator,
    requestLog,
    sampleShop,
    dailyStats: createDailyStats(),
    exports: createExportProgress(),
  };
}
