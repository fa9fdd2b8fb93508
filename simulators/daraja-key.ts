// The key pair to which a merchant encrypts its initiator password. Everybody can read it here: it protects nothing, and only a
// simulator accepts it. It is fixed, so that a connection made once still works after the simulator was started again.

/** What Safaricom offers for download as its certificate. */
export const SIMULATOR_CERTIFICATE = [
  '-----BEGIN CERTIFICATE-----',
  'MIIDGTCCAgGgAwIBAgIUDuy/00+uqhCWWE31HodcMQPfbRYwDQYJKoZIhvcNAQEL',
  'BQAwGzEZMBcGA1UEAwwQZGFyYWphLXNpbXVsYXRvcjAgFw0yNjExMTUxODAzNTFa',
  'GA8yMTI2MTAyMjE4MDM1MVowGzEZMBcGA1UEAwwQZGFyYWphLXNpbXVsYXRvcjCC',
  'ASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBAOfKZKxABTInFEUi+Ewa5F88',
  'wfeN9zR1onK4lmDZo/5CRp5JL2AbV1LyzXMk6Y2JY1RswQSM0dSdRVrNOYOc1c1J',
  'UKvKzGtgjePys2ouyOvmCgFvrnhMzgVb7zSyqKEdn4846AherBZrSkDle1m2YnZq',
  'p4lLqBj2DVM9WOIjCABSs5oSrYy7t2lEu0Ha25je4+wWcAuagIE5/cw1X9A9xVRG',
  'e+R9Daqn2N4YYrk2OGIf+YtOaK6fWHsQvGkqgx8OyA4lDFhP+mvCINwXivwTml2i',
  'tcR5ScclkXo2vRy2kKkh0FR8XuNmoRH2EsGXxX9/eo5eJdlIFWkr+bxvZajYla8C',
  'AwEAAaNTMFEwHQYDVR0OBBYEFL1uYRgcEJXxTlkl8hplUDYm/SdZMB8GA1UdIwQY',
  'MBaAFL1uYRgcEJXxTlkl8hplUDYm/SdZMA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZI',
  'hvcNAQELBQADggEBANY+fkKweMB32m4L2CiLwh3t9JzDrfLE0vWPQ8UDX+S6I3ss',
  'gGzxkJPUKQ6L2cMFtTAdkmQiKKLwJ+gdANzVrDzAHy9NaE70NXYKZpmZwl26G5s6',
  'J0/yhljTNwTXSTpLRgBPKw+jAs6GLCCnEq/zTOrZLaHDL4UrPmCRQYdaEBeNWdlw',
  'tQimM3ZieyBwSmP0pNKslNkh6vemVIxDZLK84X/kKvResdGOvPcQM1IBQeBj3vJm',
  'PPR4JrH3rc1HJAzqfJEikGWOtvZ3b+PrznYdu9A/jmBnuM0HypWHi6RvB73cK2Z9',
  'h4o4j7tGMYjcwtToKNOROiAL9ja7rP17vNizIVM=',
  '-----END CERTIFICATE-----',
  '',
].join('\n');

/** PKCS #8, DER, base64. */
export const SIMULATOR_PRIVATE_KEY = [
  'MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDnymSsQAUyJxRFIvhMGuRfPMH3jfc0daJyuJZg2aP+QkaeSS9gG1dS8s1zJO',
  'mNiWNUbMEEjNHUnUVazTmDnNXNSVCrysxrYI3j8rNqLsjr5goBb654TM4FW+80sqihHZ+POOgIXqwWa0pA5XtZtmJ2aqeJS6gY9g1TPVjiIwgA',
  'UrOaEq2Mu7dpRLtB2tuY3uPsFnALmoCBOf3MNV/QPcVURnvkfQ2qp9jeGGK5NjhiH/mLTmiun1h7ELxpKoMfDsgOJQxYT/prwiDcF4r8E5pdor',
  'XEeUnHJZF6Nr0ctpCpIdBUfF7jZqER9hLBl8V/f3qOXiXZSBVpK/m8b2Wo2JWvAgMBAAECggEADGrsX8oCPUCYtmd8M9+Q8oU3wwJpBvdyX4EC',
  'FWgzf/CfBeXX0udEE16MoSmOFZYRqzk0UgEVULWoPIgYF7P0RE40My/nKa1/jIG5GOwuuWyWhqMsDqfWtbTKKOGVZSRIIw0iaShhQcY3sShaJm',
  'E9/ygRl6pk9Alih14W/+5uhE3PzwpSLU97aqcaOLqRKU0XVcwJNUJzBGZKP5PSGTJgfKITDyPMHtgTusNw/bBsK0kvJCKPa5HpCqdu8+7oirio',
  'N+n7NIqkgAFRN/A44oC/HgYGPtYKrpXVRAi/4K2g6qLdKfCJ21adSb9pQwoI7rl4ROGw+fkiBQZBhQAvWXiZgQKBgQD+sT2Pk0FNSTLXq1DQHu',
  '7ztUeLU4lN/DYnzDKWea5uuTkXH8JloRZ8N/sSOmkSGZ+VxwupYrwAu+O+KaWHxSQkUfZ8IdQH63TM9AEY8qxY8gpHp8JNO22SfsxFF3azsb4g',
  'ufklsnPjCbL6W4j2MLsONgwBAtIXFo0eelF9iIKSbwKBgQDo+w0sADYKmTbwNuRR66oKZfTO5XHJrkMBP14rxTVQHZmOYvZajmb1DNZjJtZY1W',
  'r+r1s0rZF9Lur2RheA9MVP6mUFa4DnAaoOxAlCzwa+2T9PWk5RTHcKcHD27pv7kiDWsxswvgB6MjWbBvTtcEc7GkYyR0AcWgmiqJUFrnLQwQKB',
  'gQC5Y5pD4BQwhY+UnQb99wZILzQcnnnbYjKpVWGdVoU542lDA8Mk5tTPJpCC/DFvE2euRmyep1fh0OI9kWMEKOPd7CtWv+juut0SMqp51mrNc6',
  'E390zfmtpvQAzAXgvxUPfsKnLIldT09iJpSievzFjcR0sFkWALnkaqYK7giXVB0QKBgFFXPV0MYdHHdl/duk9DqSViPVtyzgxs8+XemuFLQ/bJ',
  'rtAAiyRIrXeG2N7bM2DmeimbTYuRwcbj95KuHAyg6LajDkwbIXEFqrrnBJi3sRI2xRzOWaOWv8T8RuRfoEPv29k5xRd6bq47E24huqefWK8w2C',
  's7pw1+/fg1RXorUtjBAoGBAOrip3h8bBlTddmQQuHa9vUKrQr2V+mTEfHCvt6Q9HR0VetikrFQkgMjkvSuBABQCBb3vz/A4KWuufW8pX6FScV6',
  'cLQg219AmwULGXRRcvSe+ezD4LzBpI3Ssn6IM7mADRUDEeIBCbP8sRZHaIAmlEQf1WIbRxlRsRcdz7FwE4ij',
].join('');
