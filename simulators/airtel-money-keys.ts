// The RSA keys of the simulated Airtel Money: 1024 bits, as Airtel has them. They guard nothing but the PIN of a simulator, and
// are fixed so that a gateway in another process knows them without asking. The settings may give others.

/** PKCS #8, DER in base64. */
export const AIRTEL_SIMULATOR_PRIVATE_KEY = [
  'MIICeAIBADANBgkqhkiG9w0BAQEFAASCAmIwggJeAgEAAoGBAJUpRYoRsiZcFEDzz/ybBTGP2GbsTWTXvWoTiWTzJjEUMLbqgKoxUSyRWRInr2',
  '3un8o3B/DfRQr3p9WIj2R2zct+lenlQkrEa8E5VbZ5pluaoGm/h1RtuUU3bplgnHshAqb0jJ2z563gQf6YMJZ5nw9zxWrvYCM/KEzymZflkNHr',
  'AgMBAAECgYAXYZXN88IqMyrVl6JVpXMl9rdkQsxK72p4k0FpOpgU/2Y3dgDfLMXdp5b/uorMP6h6iS/MeSMYegOr/DEF/X16mETXVWpVuSybkT',
  'jyk3T2WVewhfiSR2FlAXN6kLbly2YnrBGrkFRT+bPyrW0OEvgItP8frXSuXEVXob7tu7JTAQJBAMQN3jincNEd4S6jrv3+A2xwk/3DOjuMmiv6',
  'c2wFdiIoKIW9LjMa74DS8oxis8rk9aPE9eRQS/fxzjKJBKZvW2sCQQDCxNwL2zDIaL66d1LOINxljrUlPjo+cW/W4tDzFUzBwG0VSkx9sADuuV',
  'K75LlwmXbP4aPA0TKJCH7sKJxaBIOBAkEAsqG0JUii6VZhMz6elfwYoHhezytPZqywWHvFKNo9DdgrO9foPVZAfM83giP4j1hYXBR8ur9SyKJA',
  'bxka7I6v6wJBAIOZ9HzmW+3uKIFhwseYmJLefDNv+nbauxDdLQYyrCx2Ur6B93EtjVPAUNC4WTxl1UvdUIImWBkTbn8vaYXBawECQQC/YUXEGM',
  'ft5JVCxHF/FowNmfBZe8ffONsn15/m5ah9GMiwyIHZJtwxRVKkeAAJggKJ0no5nQOUG4LojhehXrZZ',
].join('');

/** SPKI, DER in base64: what the portal shows, for encrypting the PIN and for signing messages. */
export const AIRTEL_SIMULATOR_PUBLIC_KEY = [
  'MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCVKUWKEbImXBRA88/8mwUxj9hm7E1k171qE4lk8yYxFDC26oCqMVEskVkSJ69t7p/KNwfw30',
  'UK96fViI9kds3LfpXp5UJKxGvBOVW2eaZbmqBpv4dUbblFN26ZYJx7IQKm9Iyds+et4EH+mDCWeZ8Pc8Vq72AjPyhM8pmX5ZDR6wIDAQAB',
].join('');
