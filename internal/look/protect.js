// Fields that must not be filled, and whose values never leave the page:
// passwords, one-time codes, payment cards.

const SECRET_TOKENS = /^(?:cc-.+|.*-password|one-time-code|password)$/;

// Words as names, ids, labels and placeholders have them, joined by single
// spaces, lower case, with a space at both ends.
const SECRET_WORDS = new RegExp(' (?:' + [
  'pass ?(?:word|wd|wort|phrase|code|key)s?', 'pwd', 'passwd', 'passwort', 'kennwort', 'mot de passe', 'contrase[nñ]a', 'clave', 'senha', 'wachtwoord', 'has[lł]o', 'l[oö]senord', 'parola', 'пароль', '密码', '密碼', 'パスワード', '비밀번호',
  '(?:user|login|new|old|current|confirm|repeat|account) ?(?:pass|pwd|password)', 'pin(?: ?(?:code|number|nummer))?', 'cvv2?', 'cvc2?', 'cvn', 'csc', 'cid code', 'security code', 'securitycode', 'card ?code', 'card verification(?: (?:code|number|value))?',
  'otp(?: ?code)?', '(?:one|1) ?time ?(?:code|password|pass(?:code)?|pin)', 'onetimecode', 'totp', '2fa(?: code)?', 'mfa(?: code)?', 'verification code', 'auth(?:entication|enticator)? code', 'sms code', 'two factor code',
  '(?:(?:credit|debit|bank|payment|gift) )?card ?(?:no|num|number|nr|nummer|holder|name|owner)', 'name on (?:the )?card', '(?:credit|debit) ?card(?! (?:address|city|street|state|zip|postal|country|apartment|phone|type)\\b)', 'cc ?(?:no|num|number|name|exp|csc|cvv|cvc|type|month|year)', 'ccnum', 'ccnumber', 'ccexp', 'kartennummer', 'numero de (?:carte|tarjeta)', 'num[eé]ro de carte', 'n[uú]mero de tarjeta', 'pan number',
  'card exp(?:iry|iration|ires)?(?: ?(?:date|month|year))?', 'exp(?:iry|iration) ?(?:date|month|year|mm|yy)', 'expires? (?:month|year|end)', 'exp ?(?:month|year|date)', 'iban', 'account ?pin', 'secret(?: (?:answer|key|code|word))?', 'private key', 'recovery (?:code|phrase|key)', 'seed phrase', 'ssn', 'social security(?: (?:number|no))?',
].join('|') + ') ');

// Whole names and ids that say little to people.
const SECRET_NAMES = /^(?:pass|pw|psw|pswd|passwort|cc|ccn|pan|cid)\d?$/i;

const wordsOf = s => ' ' + s.replace(/([a-zß-öø-ÿ])([A-Z])/g, '$1 $2').toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ').trim() + ' ';
const secretWords = s => s !== '' && SECRET_WORDS.test(wordsOf(s.slice(0, 300)));

const PLAIN_TYPES = set('checkbox radio button submit reset image file range color hidden');

// takesText tells whether something can be typed or chosen that could be a
// secret; a check box "Show password" takes none.
const takesText = (tag, el) => tag === 'input' ? !PLAIN_TYPES.has(inputType(el)) : tag === 'select' || tag === 'textarea' || isEditor(el) || /^(?:textbox|searchbox|combobox|spinbutton)$/.test(attr(el, 'role'));

const isEditor = el => el instanceof HTMLElement && editable.call(el) && el !== bodyElement;

// protectedField is the verdict on one field; names are what it is called.
const protectedField = (tag, el, names) => {
  if (tag === 'input' && inputType(el) === 'password') return ever(el), true;
  if (memory.secret.has(el)) return true;
  if (!takesText(tag, el)) return false;
  for (const t of attr(el, 'autocomplete').toLowerCase().split(/[ \t\n\r\f]+/)) if (SECRET_TOKENS.test(t)) return true;
  for (const a of ['id', 'name']) {
    const v = attr(el, a);
    if (v && memory.secretKeys.has(a + ' ' + v)) return true;
  }
  if (styleOf(el).webkitTextSecurity !== 'none') return true;
  for (const a of ['name', 'id']) if (!/(?:^|[.:[_-])(?:user_?name|e?-?mail|login|user)\]?$/i.test(attr(el, a)) && (SECRET_NAMES.test(attr(el, a)) || secretWords(attr(el, a)))) return true;
  for (const a of ['placeholder', 'aria-label', 'title', 'aria-placeholder', 'data-placeholder', 'ng-model', 'formcontrolname', 'data-testid']) if (secretWords(attr(el, a))) return true;
  return names.some(secretWords);
};
