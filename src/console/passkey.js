// Passkeys: a form with data-passkey asks the gateway for a challenge, the browser for a signature, and is then sent with
// it. Where the browser has no passkeys, or the page is not on the gateway's own origin, the form stays hidden.

(function () {
  function findAll(selector) {
    return Array.prototype.slice.call(document.querySelectorAll(selector));
  }

  function toBytes(text) {
    var binary = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
    var bytes = new Uint8Array(binary.length);
    var at;
    for (at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
    return bytes;
  }

  function toText(buffer) {
    var binary = String.fromCharCode.apply(null, new Uint8Array(buffer));
    return btoa(binary).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '');
  }

  function readCredentials(credentials) {
    return (credentials || []).map(function (credential) {
      return { id: toBytes(credential.id), type: 'public-key', transports: credential.transports };
    });
  }

  // The gateway writes bytes as base64url; the browser takes them as bytes.
  function readOptions(options) {
    options.challenge = toBytes(options.challenge);
    if (options.user) options.user.id = toBytes(options.user.id);
    if (options.excludeCredentials) options.excludeCredentials = readCredentials(options.excludeCredentials);
    if (options.allowCredentials) options.allowCredentials = readCredentials(options.allowCredentials);
    return { publicKey: options };
  }

  function writeCredential(credential) {
    var response = credential.response;
    var written = { clientDataJSON: toText(response.clientDataJSON) };
    if (response.attestationObject) {
      written.attestationObject = toText(response.attestationObject);
      written.transports = response.getTransports ? response.getTransports() : [];
    } else {
      written.authenticatorData = toText(response.authenticatorData);
      written.signature = toText(response.signature);
      if (response.userHandle) written.userHandle = toText(response.userHandle);
    }
    return JSON.stringify({
      id: credential.id,
      rawId: toText(credential.rawId),
      type: credential.type,
      response: written,
      clientExtensionResults: {},
    });
  }

  function askForOptions(form) {
    return fetch(form.dataset.asks, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(new FormData(form)).toString(),
    }).then(function (answer) {
      if (!answer.ok) throw new Error(String(answer.status));
      return answer.json();
    });
  }

  function useForm(form) {
    var problem = form.querySelector('[data-problem]');
    var button = form.querySelector('button');
    form.hidden = false;
    form.addEventListener('submit', function (event) {
      event.preventDefault();
      // The form is sent below, once it has a signature.
      event.stopPropagation();
      problem.hidden = true;
      button.disabled = true;
      askForOptions(form)
        .then(function (options) {
          var asked = readOptions(options);
          return form.dataset.passkey === 'create'
            ? navigator.credentials.create(asked)
            : navigator.credentials.get(asked);
        })
        .then(function (credential) {
          form.elements.credential.value = writeCredential(credential);
          form.submit();
        })
        .catch(function () {
          problem.hidden = false;
          button.disabled = false;
        });
    });
  }

  if (!window.PublicKeyCredential || !navigator.credentials) return;
  findAll('form[data-passkey]').forEach(function (form) {
    if (form.dataset.origin === location.origin) useForm(form);
  });
  findAll('[data-passkey-origin]').forEach(function (element) {
    if (element.dataset.passkeyOrigin === location.origin) element.hidden = !element.hidden;
  });
})();
