"""Codes of currencies (ISO 4217), and what they are called."""

from __future__ import annotations

from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
from clusterwright.i18n import _

_CODES = """
AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP
CNH CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF
IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK
MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR
SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED
VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
"""
_NAMES = {
    "CNY": "yuan renminbi rmb cn ¥ 元 人民币",
    "USD": "dollar dollars us us$ $ 美元",
    "EUR": "euro euros € 欧元",
    "GBP": "pound pounds sterling £ 英镑",
    "JPY": "yen 日元",
    "CHF": "franc francs sfr",
    "INR": "rupee rupees ₹",
    "KRW": "won ₩",
    "HKD": "hk$",
    "TWD": "ntd nt$",
}


def require_currency(text: str) -> None:
    """Refuse a text that is no code of a currency, with the code that it means.

    Raises:
        WrightError: `not-a-choice`.
    """
    name, codes = text.strip(), _CODES.split()
    if name.upper() in codes:
        return
    meant = next((code for code, names in _NAMES.items() if name.lower() in names.split()), "")
    fix = (
        _("write {code}", code=meant)
        if meant
        else unknown_name_fix(
            name.upper(), codes, _("write the code of the currency, such as CNY, USD or EUR")
        )
    )
    message = _("`{text}` is not the code of a currency", text=name[:60])
    raise WrightError.from_code("not-a-choice", message, fix, exit_code=EXIT_USAGE)
