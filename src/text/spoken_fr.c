// spoken_fr.c: how French is read aloud, as in France: words, agreement, units, abbreviations.
//
// in:  nothing. out: the table that text/spoken_words reads by.
// Numbers follow the spelling of 1990, hyphens throughout. ICU's ordinals of 81, 91 and 101 are
// corrected: "quatre-vingt-unième" has no "et".
#include "text/spoken_language.h"

static const kz_number_correction corrections[] = {
    {"quatre-vingt-et-", "quatre-vingt-"},
    {"cent-et-", "cent-"},
    {"cent et ", "cent "},
    {"mille-et-", "mille-"},
    {NULL, NULL},
};

static const kz_number_correction before_thousand[] = {
    {"vingts", "vingt"}, {"cents", "cent"}, {NULL, NULL}};

static const kz_ordinal_suffix ordinals[] = {
    {"er", "", false, NULL},       {"ers", "s", false, NULL},     {"re", "", true, NULL},
    {"res", "s", true, NULL},      {"ère", "", true, NULL},       {"ères", "s", true, NULL},
    {"ere", "", true, NULL},       {"e", "", false, NULL},        {"es", "s", false, NULL},
    {"è", "", false, NULL},        {"ème", "", false, NULL},      {"èmes", "s", false, NULL},
    {"eme", "", false, NULL},      {"emes", "s", false, NULL},    {"ième", "", false, NULL},
    {"ièmes", "s", false, NULL},   {"nd", "", false, "second"},   {"nde", "", true, "seconde"},
    {"de", "", true, "seconde"},   {"nds", "s", false, "second"}, {"ndes", "s", true, "seconde"},
    {"des", "s", true, "seconde"}, {NULL, NULL, false, NULL},
};

static const kz_fraction_name fractions[] = {
    {2, "demi", "demis"}, {3, "tiers", "tiers"}, {4, "quart", "quarts"}, {0, NULL, NULL}};

static const kz_unit units[] = {
    {"%", "pour cent", "pour cent", false},
    {"‰", "pour mille", "pour mille", false},
    {"°", "degré", "degrés", false},
    {"°C", "degré Celsius", "degrés Celsius", false},
    {"° C", "degré Celsius", "degrés Celsius", false},
    {"℃", "degré Celsius", "degrés Celsius", false},
    {"°F", "degré Fahrenheit", "degrés Fahrenheit", false},
    {"° F", "degré Fahrenheit", "degrés Fahrenheit", false},
    {"K", "kelvin", "kelvins", false},
    {"km", "kilomètre", "kilomètres", false},
    {"hm", "hectomètre", "hectomètres", false},
    {"m", "mètre", "mètres", false},
    {"dm", "décimètre", "décimètres", false},
    {"cm", "centimètre", "centimètres", false},
    {"mm", "millimètre", "millimètres", false},
    {"μm", "micromètre", "micromètres", false},
    {"nm", "nanomètre", "nanomètres", false},
    {"km²", "kilomètre carré", "kilomètres carrés", false},
    {"m²", "mètre carré", "mètres carrés", false},
    {"dm²", "décimètre carré", "décimètres carrés", false},
    {"cm²", "centimètre carré", "centimètres carrés", false},
    {"mm²", "millimètre carré", "millimètres carrés", false},
    {"km2", "kilomètre carré", "kilomètres carrés", false},
    {"m2", "mètre carré", "mètres carrés", false},
    {"cm2", "centimètre carré", "centimètres carrés", false},
    {"km³", "kilomètre cube", "kilomètres cubes", false},
    {"m³", "mètre cube", "mètres cubes", false},
    {"dm³", "décimètre cube", "décimètres cubes", false},
    {"cm³", "centimètre cube", "centimètres cubes", false},
    {"mm³", "millimètre cube", "millimètres cubes", false},
    {"m3", "mètre cube", "mètres cubes", false},
    {"cm3", "centimètre cube", "centimètres cubes", false},
    {"ha", "hectare", "hectares", false},
    {"t", "tonne", "tonnes", true},
    {"kg", "kilogramme", "kilogrammes", false},
    {"Kg", "kilogramme", "kilogrammes", false},
    {"g", "gramme", "grammes", false},
    {"mg", "milligramme", "milligrammes", false},
    {"μg", "microgramme", "microgrammes", false},
    {"hl", "hectolitre", "hectolitres", false},
    {"hL", "hectolitre", "hectolitres", false},
    {"l", "litre", "litres", false},
    {"L", "litre", "litres", false},
    {"dl", "décilitre", "décilitres", false},
    {"dL", "décilitre", "décilitres", false},
    {"cl", "centilitre", "centilitres", false},
    {"cL", "centilitre", "centilitres", false},
    {"ml", "millilitre", "millilitres", false},
    {"c. à s.", "cuillère à soupe", "cuillères à soupe", true},
    {"c. à c.", "cuillère à café", "cuillères à café", true},
    {"c.à.s.", "cuillère à soupe", "cuillères à soupe", true},
    {"c.à.c.", "cuillère à café", "cuillères à café", true},
    {"c. à soupe", "cuillère à soupe", "cuillères à soupe", true},
    {"c. à café", "cuillère à café", "cuillères à café", true},
    {"càs", "cuillère à soupe", "cuillères à soupe", true},
    {"càc", "cuillère à café", "cuillères à café", true},
    {"mL", "millilitre", "millilitres", false},
    {"km/h", "kilomètre-heure", "kilomètres-heure", false},
    {"km/s", "kilomètre par seconde", "kilomètres par seconde", false},
    {"m/s", "mètre par seconde", "mètres par seconde", false},
    {"m/s²", "mètre par seconde carrée", "mètres par seconde carrée", false},
    {"tr/min", "tour par minute", "tours par minute", false},
    {"tours/min", "tour par minute", "tours par minute", false},
    {"h", "heure", "heures", true},
    {"min", "minute", "minutes", true},
    {"mn", "minute", "minutes", true},
    {"s", "seconde", "secondes", true},
    {"sec", "seconde", "secondes", true},
    {"ms", "milliseconde", "millisecondes", true},
    {"μs", "microseconde", "microsecondes", true},
    {"ns", "nanoseconde", "nanosecondes", true},
    {"j", "jour", "jours", false},
    {"V", "volt", "volts", false},
    {"kV", "kilovolt", "kilovolts", false},
    {"mV", "millivolt", "millivolts", false},
    {"A", "ampère", "ampères", false},
    {"mA", "milliampère", "milliampères", false},
    {"Ah", "ampère-heure", "ampères-heures", false},
    {"mAh", "milliampère-heure", "milliampères-heures", false},
    {"W", "watt", "watts", false},
    {"kW", "kilowatt", "kilowatts", false},
    {"MW", "mégawatt", "mégawatts", false},
    {"GW", "gigawatt", "gigawatts", false},
    {"Wh", "wattheure", "wattheures", false},
    {"kWh", "kilowattheure", "kilowattheures", false},
    {"MWh", "mégawattheure", "mégawattheures", false},
    {"kWc", "kilowatt-crête", "kilowatts-crête", false},
    {"Ω", "ohm", "ohms", false},
    {"kΩ", "kilo-ohm", "kilo-ohms", false},
    {"Hz", "hertz", "hertz", false},
    {"kHz", "kilohertz", "kilohertz", false},
    {"MHz", "mégahertz", "mégahertz", false},
    {"GHz", "gigahertz", "gigahertz", false},
    {"J", "joule", "joules", false},
    {"kJ", "kilojoule", "kilojoules", false},
    {"cal", "calorie", "calories", true},
    {"kcal", "kilocalorie", "kilocalories", true},
    {"Pa", "pascal", "pascals", false},
    {"hPa", "hectopascal", "hectopascals", false},
    {"kPa", "kilopascal", "kilopascals", false},
    {"bar", "bar", "bars", false},
    {"bars", "bar", "bars", false},
    {"mbar", "millibar", "millibars", false},
    {"dB", "décibel", "décibels", false},
    {"lm", "lumen", "lumens", false},
    {"N", "newton", "newtons", false},
    {"Nm", "newton-mètre", "newtons-mètres", false},
    {"o", "octet", "octets", false},
    {"Ko", "kilooctet", "kilooctets", false},
    {"ko", "kilooctet", "kilooctets", false},
    {"Mo", "mégaoctet", "mégaoctets", false},
    {"Go", "gigaoctet", "gigaoctets", false},
    {"To", "téraoctet", "téraoctets", false},
    {"Po", "pétaoctet", "pétaoctets", false},
    {"kB", "kilooctet", "kilooctets", false},
    {"KB", "kilooctet", "kilooctets", false},
    {"MB", "mégaoctet", "mégaoctets", false},
    {"GB", "gigaoctet", "gigaoctets", false},
    {"TB", "téraoctet", "téraoctets", false},
    {"Mo/s", "mégaoctet par seconde", "mégaoctets par seconde", false},
    {"Go/s", "gigaoctet par seconde", "gigaoctets par seconde", false},
    {"kbit/s", "kilobit par seconde", "kilobits par seconde", false},
    {"Mbit/s", "mégabit par seconde", "mégabits par seconde", false},
    {"Gbit/s", "gigabit par seconde", "gigabits par seconde", false},
    {"kb/s", "kilobit par seconde", "kilobits par seconde", false},
    {"Mb/s", "mégabit par seconde", "mégabits par seconde", false},
    {"Gb/s", "gigabit par seconde", "gigabits par seconde", false},
    {"Mbps", "mégabit par seconde", "mégabits par seconde", false},
    {"Gbps", "gigabit par seconde", "gigabits par seconde", false},
    {"px", "pixel", "pixels", false},
    {"Mpx", "mégapixel", "mégapixels", false},
    {"ppm", "partie par million", "parties par million", true},
    {"ch", "cheval", "chevaux", false},
    {"mph", "mile à l'heure", "miles à l'heure", false},
    {"hab.", "habitant", "habitants", false},
    {"hab", "habitant", "habitants", false},
    {"pers.", "personne", "personnes", true},
    {"pers", "personne", "personnes", true},
    {"pts", "point", "points", false},
    {"pt", "point", "points", false},
    {"ans", "an", "ans", false},
    {"an", "an", "ans", false},
    {NULL, NULL, NULL, false},
};

static const kz_currency currencies[] = {
    {"€", "euro", "euros", "centime", "centimes", false},
    {"EUR", "euro", "euros", "centime", "centimes", false},
    {"euros", "euro", "euros", "centime", "centimes", false},
    {"euro", "euro", "euros", "centime", "centimes", false},
    {"$", "dollar", "dollars", "cent", "cents", false},
    {"US$", "dollar américain", "dollars américains", "cent", "cents", false},
    {"USD", "dollar américain", "dollars américains", "cent", "cents", false},
    {"CAD", "dollar canadien", "dollars canadiens", "cent", "cents", false},
    {"£", "livre", "livres", "penny", "pence", true},
    {"GBP", "livre sterling", "livres sterling", "penny", "pence", true},
    {"CHF", "franc suisse", "francs suisses", "centime", "centimes", false},
    {"FCFA", "franc C F A", "francs C F A", NULL, NULL, false},
    {"¥", "yen", "yens", NULL, NULL, false},
    {"JPY", "yen", "yens", NULL, NULL, false},
    {"₽", "rouble", "roubles", "kopeck", "kopecks", false},
    {"₹", "roupie", "roupies", NULL, NULL, true},
    {"₿", "bitcoin", "bitcoins", NULL, NULL, false},
    {"cts", "centime", "centimes", NULL, NULL, false},
    {"ct", "centime", "centimes", NULL, NULL, false},
    {"c€", "centime", "centimes", NULL, NULL, false},
    {"¢", "cent", "cents", NULL, NULL, false},
    {NULL, NULL, NULL, NULL, NULL, false},
};

static const kz_scale scales[] = {
    {"k", "mille", "mille"},
    {"K", "mille", "mille"},
    {"Md", "milliard", "milliards"},
    {"Mds", "milliard", "milliards"},
    {"M", "million", "millions"},
    {"G", "milliard", "milliards"},
    {"millions", "million", "millions"},
    {"million", "million", "millions"},
    {"milliards", "milliard", "milliards"},
    {"milliard", "milliard", "milliards"},
    {NULL, NULL, NULL},
};

static const kz_spoken_abbreviation abbreviations[] = {
    // People.
    {"M.", "monsieur", KZ_BEFORE_CAPITAL},
    {"M. et", "monsieur et", KZ_EXACT},
    {"M. ou", "monsieur ou", KZ_EXACT},
    {"M. le", "monsieur le", KZ_EXACT},
    {"MM.", "messieurs", KZ_EXACT},
    {"Mr", "monsieur", KZ_EXACT},
    {"Mr.", "monsieur", KZ_EXACT},
    {"Mme", "madame", KZ_EXACT},
    {"Mme.", "madame", KZ_BEFORE_CAPITAL},
    {"Mmes", "mesdames", KZ_EXACT},
    {"Mlle", "mademoiselle", KZ_EXACT},
    {"Mlle.", "mademoiselle", KZ_BEFORE_CAPITAL},
    {"Mlles", "mesdemoiselles", KZ_EXACT},
    {"Me", "maître", KZ_BEFORE_CAPITAL},
    {"Dr", "docteur", KZ_EXACT},
    {"Dr.", "docteur", KZ_EXACT},
    {"Dre", "docteure", KZ_EXACT},
    {"Drs", "docteurs", KZ_EXACT},
    {"Pr", "professeur", KZ_EXACT},
    {"Pr.", "professeur", KZ_EXACT},
    {"Pre", "professeure", KZ_EXACT},
    {"Prof.", "professeur", KZ_EXACT},
    {"Mgr", "monseigneur", KZ_EXACT},
    {"Mgr.", "monseigneur", KZ_EXACT},
    {"Vve", "veuve", KZ_EXACT},
    {"Cdt", "commandant", KZ_BEFORE_CAPITAL},
    {"Sté", "société", KZ_EXACT},
    {"Ets", "établissements", KZ_EXACT},
    {"ets", "établissements", KZ_BEFORE_CAPITAL},
    {"Lt-col.", "lieutenant-colonel", KZ_ALWAYS},
    {"lt-col.", "lieutenant-colonel", KZ_ALWAYS},
    {"Gal", "général", KZ_BEFORE_CAPITAL},
    {"Gén.", "général", KZ_EXACT},
    {"Cne", "capitaine", KZ_BEFORE_CAPITAL},
    {"Lt", "lieutenant", KZ_BEFORE_CAPITAL},
    {"Sgt", "sergent", KZ_BEFORE_CAPITAL},
    {"St", "saint", KZ_BEFORE_CAPITAL},
    {"Ste", "sainte", KZ_BEFORE_CAPITAL},
    {"St-", "saint-", KZ_EXACT},
    {"Ste-", "sainte-", KZ_EXACT},
    {"Sts", "saints", KZ_BEFORE_CAPITAL},
    {"St.", "saint", KZ_BEFORE_CAPITAL},
    {"Cie", "compagnie", KZ_EXACT},
    {"Cie.", "compagnie", KZ_EXACT},
    {"Sté", "société", KZ_EXACT},
    {"Ets", "établissements", KZ_EXACT},
    {"Éts", "établissements", KZ_EXACT},
    {"Jr", "junior", KZ_EXACT},
    // Text.
    {"etc.", "et cetera", KZ_ALWAYS},
    {"etc", "et cetera", KZ_ALWAYS},
    {"etc…", "et cetera", KZ_ALWAYS},
    {"p. ex.", "par exemple", KZ_ALWAYS},
    {"p.ex.", "par exemple", KZ_ALWAYS},
    {"par ex.", "par exemple", KZ_ALWAYS},
    {"ex.", "exemple", KZ_ALWAYS},
    {"ex. :", "exemple :", KZ_ALWAYS},
    {"c.-à-d.", "c'est-à-dire", KZ_ALWAYS},
    {"c-à-d", "c'est-à-dire", KZ_ALWAYS},
    {"c.à.d.", "c'est-à-dire", KZ_ALWAYS},
    {"c-à-d.", "c'est-à-dire", KZ_ALWAYS},
    {"càd", "c'est-à-dire", KZ_ALWAYS},
    {"i.e.", "c'est-à-dire", KZ_ALWAYS},
    {"e.g.", "par exemple", KZ_ALWAYS},
    {"env.", "environ", KZ_ALWAYS},
    {"cf.", "confer", KZ_ALWAYS},
    {"cf", "confer", KZ_ALWAYS},
    {"vs", "versus", KZ_ALWAYS},
    {"vs.", "versus", KZ_ALWAYS},
    {"N.B.", "nota bene", KZ_EXACT},
    {"NB", "nota bene", KZ_EXACT},
    {"P.-S.", "post-scriptum", KZ_EXACT},
    {"P.S.", "post-scriptum", KZ_EXACT},
    {"max.", "maximum", KZ_ALWAYS},
    {"max", "maximum", KZ_AFTER_NUMBER},
    {"min.", "minimum", KZ_NOT_AFTER_NUMBER},
    {"min.", "minutes", KZ_AFTER_NUMBER},
    {"moy.", "moyenne", KZ_ALWAYS},
    {"approx.", "approximativement", KZ_ALWAYS},
    {"resp.", "respectivement", KZ_ALWAYS},
    {"n°", "numéro", KZ_ALWAYS},
    {"n°s", "numéros", KZ_ALWAYS},
    {"N°", "numéro", KZ_EXACT},
    {"no", "numéro", KZ_BEFORE_NUMBER},
    {"no.", "numéro", KZ_BEFORE_NUMBER},
    {"num.", "numéro", KZ_ALWAYS},
    {"№", "numéro", KZ_EXACT},
    {"tél.", "téléphone", KZ_ALWAYS},
    {"tél", "téléphone", KZ_ALWAYS},
    {"Tél", "téléphone", KZ_EXACT},
    {"p.", "page", KZ_BEFORE_NUMBER},
    {"pp.", "pages", KZ_BEFORE_NUMBER},
    {"pages", "pages", KZ_EXACT},
    {"art.", "article", KZ_BEFORE_NUMBER},
    {"s.", "siècle", KZ_AFTER_WORD}, // "XVIIe s."
    {"th.", "thermostat", KZ_BEFORE_NUMBER},
    {"chap.", "chapitre", KZ_ALWAYS},
    {"ch.", "chapitre", KZ_BEFORE_NUMBER},
    {"vol.", "volume", KZ_BEFORE_NUMBER},
    {"t.", "tome", KZ_BEFORE_NUMBER},
    {"fig.", "figure", KZ_ALWAYS},
    {"al.", "alinéa", KZ_BEFORE_NUMBER},
    {"éd.", "édition", KZ_ALWAYS},
    {"coll.", "collection", KZ_ALWAYS},
    {"réf.", "référence", KZ_ALWAYS},
    {"Réf.", "référence", KZ_EXACT},
    {"ref.", "référence", KZ_ALWAYS},
    {"réf", "référence", KZ_ALWAYS},
    {"trad.", "traduction", KZ_ALWAYS},
    {"paragr.", "paragraphe", KZ_ALWAYS},
    {"qqn", "quelqu'un", KZ_ALWAYS},
    {"qqch", "quelque chose", KZ_ALWAYS},
    {"qqch.", "quelque chose", KZ_ALWAYS},
    {"qq.", "quelque", KZ_ALWAYS},
    {"bcp", "beaucoup", KZ_ALWAYS},
    {"tjrs", "toujours", KZ_ALWAYS},
    {"pdt", "pendant", KZ_ALWAYS},
    {"svp", "s'il vous plaît", KZ_ALWAYS},
    {"SVP", "s'il vous plaît", KZ_EXACT},
    {"s.v.p.", "s'il vous plaît", KZ_ALWAYS},
    {"S.V.P.", "s'il vous plaît", KZ_EXACT},
    {"stp", "s'il te plaît", KZ_ALWAYS},
    {"STP", "s'il te plaît", KZ_EXACT},
    {"rdv", "rendez-vous", KZ_ALWAYS},
    {"RDV", "rendez-vous", KZ_EXACT},
    {"R.-V.", "rendez-vous", KZ_EXACT},
    {"RSVP", "répondez s'il vous plaît", KZ_EXACT},
    {"apr.", "après", KZ_EXACT},
    {"av. J.-C.", "avant Jésus-Christ", KZ_EXACT},
    {"av. J-C", "avant Jésus-Christ", KZ_EXACT},
    {"av. JC", "avant Jésus-Christ", KZ_EXACT},
    {"av. J.C.", "avant Jésus-Christ", KZ_EXACT},
    {"av. J. -C.", "avant Jésus-Christ", KZ_EXACT},
    {"apr. J.-C.", "après Jésus-Christ", KZ_EXACT},
    {"ap. J.-C.", "après Jésus-Christ", KZ_EXACT},
    {"apr. JC", "après Jésus-Christ", KZ_EXACT},
    {"ap. JC", "après Jésus-Christ", KZ_EXACT},
    {"J.-C.", "Jésus-Christ", KZ_EXACT},
    {"hab.", "habitants", KZ_ALWAYS},
    {"nb", "nombre", KZ_ALWAYS},
    {"nbre", "nombre", KZ_ALWAYS},
    {"suppl.", "supplément", KZ_ALWAYS},
    {"dép.", "département", KZ_ALWAYS},
    {"dpt", "département", KZ_ALWAYS},
    {"dept", "département", KZ_ALWAYS},
    {"gouv.", "gouvernement", KZ_ALWAYS},
    {"adr.", "adresse", KZ_ALWAYS},
    {"tlj", "tous les jours", KZ_ALWAYS},
    {"qté", "quantité", KZ_ALWAYS},
    {"janv.", "janvier", KZ_ALWAYS},
    {"févr.", "février", KZ_ALWAYS},
    {"sept.", "septembre", KZ_ALWAYS},
    {"oct.", "octobre", KZ_ALWAYS},
    {"nov.", "novembre", KZ_ALWAYS},
    {"déc.", "décembre", KZ_ALWAYS},
    {"juil.", "juillet", KZ_ALWAYS},
    {"lun.", "lundi", KZ_ALWAYS},
    {"mar.", "mardi", KZ_BEFORE_NUMBER},
    {"mer.", "mercredi", KZ_BEFORE_NUMBER},
    {"jeu.", "jeudi", KZ_BEFORE_NUMBER},
    {"ven.", "vendredi", KZ_ALWAYS},
    {"sam.", "samedi", KZ_ALWAYS},
    {"dim.", "dimanche", KZ_ALWAYS},
    // Places.
    {"bd", "boulevard", KZ_ALWAYS},
    {"bd.", "boulevard", KZ_ALWAYS},
    {"Bd", "boulevard", KZ_EXACT},
    {"bld", "boulevard", KZ_ALWAYS},
    {"bld.", "boulevard", KZ_ALWAYS},
    {"boul.", "boulevard", KZ_ALWAYS},
    {"blvd", "boulevard", KZ_ALWAYS},
    {"av.", "avenue", KZ_ALWAYS},
    {"ave.", "avenue", KZ_ALWAYS},
    {"pl.", "place", KZ_ALWAYS},
    {"rte", "route", KZ_ALWAYS},
    {"rte.", "route", KZ_ALWAYS},
    {"chem.", "chemin", KZ_ALWAYS},
    {"ch. ", "chemin ", KZ_BEFORE_CAPITAL},
    {"imp.", "impasse", KZ_ALWAYS},
    {"all.", "allée", KZ_ALWAYS},
    {"sq.", "square", KZ_ALWAYS},
    {"fg", "faubourg", KZ_ALWAYS},
    {"fbg", "faubourg", KZ_ALWAYS},
    {"bât.", "bâtiment", KZ_ALWAYS},
    {"bat.", "bâtiment", KZ_ALWAYS},
    {"bât", "bâtiment", KZ_ALWAYS},
    {"esc.", "escalier", KZ_ALWAYS},
    {"ét.", "étage", KZ_ALWAYS},
    {"étg.", "étage", KZ_ALWAYS},
    {"appt", "appartement", KZ_ALWAYS},
    {"appt.", "appartement", KZ_ALWAYS},
    {"apt", "appartement", KZ_ALWAYS},
    {"apt.", "appartement", KZ_ALWAYS},
    {"app.", "appartement", KZ_BEFORE_NUMBER},
    {"rés.", "résidence", KZ_ALWAYS},
    {"résid.", "résidence", KZ_ALWAYS},
    {"lot.", "lotissement", KZ_ALWAYS},
    {"r.", "rue", KZ_BEFORE_CAPITAL},
    {"rdc", "rez-de-chaussée", KZ_ALWAYS},
    {"BP", "boîte postale", KZ_BEFORE_NUMBER},
    {"St-", "saint-", KZ_EXACT},
    // Keys.
    {"Ctrl+", "contrôle ", KZ_EXACT},
    {"Ctrl +", "contrôle ", KZ_EXACT},
    {"Ctrl-", "contrôle ", KZ_EXACT},
    {"Ctrl", "contrôle", KZ_EXACT},
    {"CTRL+", "contrôle ", KZ_EXACT},
    {"CTRL", "contrôle", KZ_EXACT},
    {"Alt+", "alt ", KZ_EXACT},
    {"Alt +", "alt ", KZ_EXACT},
    {"Maj+", "majuscule ", KZ_EXACT},
    {"Maj +", "majuscule ", KZ_EXACT},
    {"Shift+", "shift ", KZ_EXACT},
    {"Cmd+", "commande ", KZ_EXACT},
    {"Win+", "windows ", KZ_EXACT},
    {"Suppr", "supprimer", KZ_EXACT},
    {"Échap", "échappement", KZ_EXACT},

    // Units without a number.
    {"kg", "kilo", KZ_EXACT},
    {"km", "kilomètre", KZ_EXACT},
    {"cm", "centimètre", KZ_EXACT},
    {"mm", "millimètre", KZ_EXACT},
    {"m²", "mètre carré", KZ_EXACT},
    {"m³", "mètre cube", KZ_EXACT},
    {"km/h", "kilomètres-heure", KZ_EXACT},
    {"kWh", "kilowattheure", KZ_EXACT},
    {"°C", "degrés Celsius", KZ_EXACT},
    {"x", "fois", KZ_IN_NUMBERS},
    {"Wi-Fi", "wifi", KZ_EXACT},
    {"WiFi", "wifi", KZ_EXACT},
    {NULL, NULL, KZ_ALWAYS},
};

static const kz_spoken_sign signs[] = {
    {'&', "et", KZ_ALWAYS},
    {'+', "plus", KZ_ALWAYS},
    {'=', "égale", KZ_ALWAYS},
    {'*', "fois", KZ_IN_FORMULA},
    {'*', "", KZ_ALWAYS},
    {'<', "est inférieur à", KZ_IN_FORMULA},
    {'<', ",", KZ_ALWAYS},
    {'>', "est supérieur à", KZ_IN_FORMULA},
    {'>', ",", KZ_ALWAYS},
    {'~', "environ", KZ_BEFORE_NUMBER},
    {'~', "", KZ_ALWAYS},
    {'@', "arobase", KZ_ALWAYS},
    {'%', "pour cent", KZ_ALWAYS},
    {0x2030, "pour mille", KZ_ALWAYS},
    {'$', "dollars", KZ_ALWAYS},
    {'/', "sur", KZ_IN_NUMBERS},
    {'^', "puissance", KZ_IN_FORMULA},
    {'^', "", KZ_ALWAYS},
    {0xd7, "fois", KZ_ALWAYS},
    {0xf7, "divisé par", KZ_ALWAYS},
    {0xb1, "plus ou moins", KZ_ALWAYS},
    {0x2248, "environ", KZ_BEFORE_NUMBER},
    {0x2248, "est à peu près égal à", KZ_ALWAYS},
    {0x2260, "est différent de", KZ_ALWAYS},
    {0x2264, "est inférieur ou égal à", KZ_ALWAYS},
    {0x2265, "est supérieur ou égal à", KZ_ALWAYS},
    {0x221a, "racine de", KZ_ALWAYS},
    {0x221e, "infini", KZ_ALWAYS},
    {0xb0, "degrés", KZ_ALWAYS},
    {0xa7, "paragraphe", KZ_ALWAYS},
    {0xa9, "copyright", KZ_ALWAYS},
    {0x20ac, "euros", KZ_ALWAYS},
    {0xa3, "livre", KZ_ALWAYS},
    {0xa5, "yen", KZ_ALWAYS},
    {0x3c0, "pi", KZ_ALWAYS},
    {0x2205, "ensemble vide", KZ_ALWAYS},
    {0x2208, "appartient à", KZ_ALWAYS},
    {0x2211, "somme", KZ_ALWAYS},
    {0, NULL, KZ_ALWAYS},
};

static const char *const phones[] = {
    "0d_dd_dd_dd_dd",     "0d|dd|dd|dd|dd",       "+33_d_dd_dd_dd_dd",
    "+33|d|dd|dd|dd|dd",  "+33|d_dd_dd_dd_dd",    "00_33_d_dd_dd_dd_dd",
    "0033_d_dd_dd_dd_dd", "0_ddd_ddd_ddd",        "0|ddd|ddd|ddd",
    "0ddd_ddd_ddd",       "+32_d_ddd_dd_dd",      "+32_ddd_dd_dd_dd",
    "+41_dd_ddd_dd_dd",   "+33 (0)d_dd_dd_dd_dd", NULL,
};

const kz_spoken_language kz_spoken_french = {
    .code = "fr",
    .numbers = {.locale = "fr",
                .rule_sets = {"%spellout-cardinal-masculine", "%spellout-cardinal-feminine",
                              "%spellout-ordinal-masculine", "%spellout-ordinal-feminine"},
                .joiner = '-',
                .corrections = corrections},
    .decimal_mark = ',',
    .group_mark = '.',
    .has_space_groups = true,
    .is_singular_below_two = true,
    .has_hour_names = true,
    .has_half_behind = true,
    .decimal_word = "virgule",
    .dot_word = "point",
    .minus = "moins",
    .plus = "plus",
    .to = "à",
    .over = "sur",
    .per = "par",
    .per_many = "aux",
    .per_nouns =
        " jour mois an heure semaine personne nuit minute seconde année élève habitant pers ",
    .zero = "zéro",
    .oh = "zéro",
    .squared = "au carré",
    .cubed = "au cube",
    .power = "puissance",
    .version = "version",
    .hashtag = "hashtag",
    .number = "numéro",
    .sharp = "dièse",
    .hour = "heure",
    .hours = "heures",
    .of = "de",
    .of_elided = "d'",
    .vowels = "aeiouyhéèêâîô",
    .half = "un demi-",
    .half_feminine = "une demi-",
    .and_half = "et demi",
    .and_half_feminine = "et demie",
    .fractions = fractions,
    .part_ending = "s",
    .mark_denominators = " 10 20 40 50 60 80 100 ",
    .thousand_word = "mille",
    .thousand_corrections = before_thousand,
    .ordinals = ordinals,
    .units = units,
    .currencies = currencies,
    .scales = scales,
    .abbreviations = abbreviations,
    .signs = signs,
    .phones = phones,
    .months = {"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
               "octobre", "novembre", "décembre"},
    .month_abbreviations = {" janv jan ", " févr fév fevr fev ", " ", " avr ", " ", " ",
                            " juil juill ", " ", " sept ", " oct ", " nov ", " déc dec "},
    .date_before = " le du au ",
    .at = "arobase",
    .address_dot = "point",
    .slash = "slash",
    .dash = "tiret",
    .underscore = "tiret bas",
    .colon = "deux points",
    .question = "point d'interrogation",
    .equals = "égale",
    .ampersand = "et",
    .tilde = "tilde",
    .percent = "pour cent",
    .feminine_nouns =
        " abbaye affaire affiche agrafe aile alarme algue amarre amende amorce amphore ampoule "
        "ancre anecdote annexe antichambre antilope arche arme armoire arrivante artère arène "
        "asperge astuce attaque auberge aumône aurore auto automobile autoroute avenue averse "
        "avocate bague baignoire balançoire banane banlieue banque baraque barque barre base "
        "berge betterave bibliothèque biche blague bleue boisson boite bombe borne boucle "
        "bouilloire boule bourrique bourse boutique boîte brebis brique brume brèche bâche bête "
        "bûche cabane cacahuète cage cagoule cale campagne caméra candidate cane cape capitale "
        "capsule carafe caravane case caserne cathédrale cave caverne cellule centrale chaleur "
        "chambre chanson charge chauve-souris chaîne chorale chute chèvre cible cigale cigogne "
        "citerne clavicule clef clinique cloison clé colombe compote comète conduite conquête "
        "conserve consigne coque corne corniche corrida couleur couleuvre cour courbe courge "
        "course crampe cravate crique croix croûte crypte crèche crème crêpe crête cuiller "
        "cuillère cuve cymbale céréale côte dame date dent diagonale digue dinde dispute douce "
        "douleur droite décharge défaite démarche dépêche eau enchère enquête entorse entrevue "
        "erreur espèce fable fabrique faillite fanfare farce fatigue faute façon femme fenêtre "
        "ferme fibre fiche figue file fin fièvre flamme flaque fleur flèche flûte foire fois "
        "force forme formule forêt fourche fourmi frange froide frégate fugue fève fête "
        "gagnante galère gamme gare gaufre gerbe gifle girafe gomme grammaire grand-mère grange "
        "grève grêle guerre guitare guérilla guêpe gélule habitante hache harpe haute hauteur "
        "herbe histoire horizontale horloge hormone huître hypothèse hyène hélice image "
        "imprimante initiale injustice insulte interview intrigue issue jambe jarre jeep joue "
        "joute jument jungle laitue lampe langouste langue lanterne larme larve lettre leçon "
        "liane libellule licorne lieue ligne ligue lime limite liste loi longue loutre louve "
        "lèvre légende légère madame main majuscule maman mangue marche marge marguerite "
        "marmite marque menthe mer merguez meringue meule meute minuscule minute moitié "
        "molécule montagne montre mort mosaïque moto moufle moule moustache mule musique "
        "mâchoire mèche mère métaphore méthode nacre nageoire nièce noire noix norme note "
        "notice nounou nuit nuque nurse nymphe oasis octave odeur offre omoplate onde orange "
        "otite page paire paix pale palme panthère pantoufle parenthèse part particule "
        "passagère passoire pastèque patate peau pelote perche perle perruque petite peur phase "
        "photo phrase pierre pieuvre pile pilule pipe piqûre pirogue piste pizza pizzeria pièce "
        "plage planque plante planète plaque plate-forme plonge plume poire police pomme pompe "
        "porte-fenêtre poule poursuite poutre poêle preuve prime prison promo prothèse puce "
        "purge pyramide pâte pédale péniche période pêche queue quête radio rafale rafle rame "
        "rampe recherche recrue relique remarque remorque rencontre requête retraite revue rime "
        "robe ronde rotule roue route rubrique rue rumeur règle récolte réplique réserve "
        "révolte sandale sangle sangsue sauce savate saveur scène seconde seringue seule sieste "
        "sirène soeur sonde source souris spatule sphère spirale station-service statistique "
        "statue strophe suite syllabe synagogue synthèse sèche sœur table tache tante taverne "
        "taxe tempête terre thèse tige timbale tirelire tisane toile tomate tombe toque torche "
        "tortue tour traite trajectoire tribu trique trompe truite trêve tuile tulipe tunique "
        "tâche télé tête urne vache vague valeur valse variable vertèbre veste veuve victime "
        "victoire video vidéo vierge vigne villa vipère virgule vis visite vitre voile voix "
        "voûte vue véranda zone âme échalote écharpe éclipse écorce élite émeute énigme épargne "
        "épaule épave épice épingle éponge époque épreuve équerre équipe étable étagère étape "
        "étendue étoile étrangère étudiante étuve île ",
    .masculine_nouns =
        " abysse accidenté alvéole amphibie anion aparté apogée arrêté athée augure avion "
        "bacille bastion bidonville billion braille brie bromure bénédicité caddie caducée "
        "camarade camion camée capitaine capitole carbure carrosse casse-noisette cation "
        "centre-ville centurion champion chanoine chlorure chèvrefeuille cimetière cloporte "
        "coche colisée colosse comité comté cookie coryphée coude croupion cyanure côte-rôtie "
        "côté derrière dimanche dinosaure doigté domaine décolleté déporté député empyrée "
        "espace espion essuie-glace fanion fantoche feuilleté fion foie ganglion garde-malade "
        "glaive glucose gorille gosse grade groupe gynécée génie hippie hoodie hyménée incendie "
        "interlude intervalle invité jade jeune junkie karaté lampion laurier-rose "
        "lave-vaisselle libelle lion lycée macchabée magazine malade malaise maté mausolée "
        "mercure messie mille mille-feuille millefeuille million moine molosse monopole morpion "
        "murmure musée narcisse nomade pactole palace pamplemousse parapluie pare-brise parjure "
        "passe-passe patrimoine pion polichinelle porte-monnaie portefeuille prince propylée "
        "protocole prytanée prélude pygmée pâté périgée quadrille quartette quinconce rapace "
        "raté rebelle renne reproche retraité rez-de-chaussée révolté scarabée scorpion selfie "
        "silence smoothie sosie squelette stade suisse sulfure suspense symbole talion traité "
        "trille trillion trophée trublion vaudeville velouté vermicelle violoncelle zombie "
        "élysée été ",
    .feminine_endings =
        " ion aison té ée ie tte lle sse nce nse ure ine une ade ude ière ise use trice aine ole "
        "ose aie nne ive ande ace oche uche nche inte ente upe ppe ffe arde rte rde ",
    .common_adjectives =
        " autre jeune simple double triple énorme immense magnifique superbe pauvre brave large "
        "vaste "
        "rapide célèbre riche sale jolie joli rare même vague modeste faible honnête tendre triste "
        "étrange terrible horrible splendide minuscule ",
    .nouns_before_number =
        " page pages ligne lignes chapitre numéro numéros article étape version tome volume salle "
        "porte chambre voie quai niveau chaîne groupe équipe table place siège classe terminal vol "
        "train "
        "bus tram métro annexe figure section exercice question partie épisode saison point "
        "paragraphe "
        "n° code leçon règle acte scène case option touche ",
    .roman_before = " chapitre chapitres tome tomes acte actes scène livre volume partie titre "
                    "section annexe article "
                    "phase type niveau paragraphe épisode saison groupe classe planche figure "
                    "tableau chant lot "
                    "appendice module leçon étape chap art t vol fig ",
    .regnal_names =
        " louis henri françois charles philippe napoléon jean paul jean-paul benoît pie léon "
        "grégoire élisabeth elizabeth elisabeth georges george guillaume édouard edouard richard "
        "jacques "
        "nicolas alexandre catherine frédéric albert léopold baudouin ramsès clovis childéric "
        "dagobert "
        "thierry robert hugues lothaire alphonse ferdinand carlos juan felipe gustave christian "
        "olaf "
        "harald haakon marie margrethe guillaume wilhelm joseph françois-joseph pierre ivan boris "
        "simon "
        "innocent urbain clément sixte jules boniface célestin nicolas adrien étienne ptolémée "
        "darius xerxès "
        "artaxerxès antiochus mithridate thoutmôsis amenhotep séthi tibère constantin théodose "
        "justinien "
        "sancho rainier hassan mohammed mahomet soliman selim sélim murad abdülhamid hussein "
        "fayçal victor-emmanuel "
        "humbert umberto amédée emmanuel conrad otton maximilien rodolphe sigismond mathias "
        "ladislas casimir "
        "auguste stanislas manuel pedro isabelle jeanne anne victoria ",
    .roman_suffixes = " e es ème èmes eme emes ième ièmes nd nde ",
    .roman_first_suffixes = " er ers ère ères re res ",
    .read_acronyms =
        " otan unesco nasa smic unicef fifa uefa insee cnil sida opep onusida ovni zad zup zep "
        "laser radar "
        "sonar cedex cnes inra ira inserm ademe afnor ifop urssaf unedic caf acoss opex pacs rap "
        "sim pin gif jpeg ram rom bios wifi ikea benelux brics ena capes deug assedic crous "
        "raid erasmus interpol europol eurostar samu sicav siren siret ehpad "
        "aida covid fnac darty pil dom tom dom-tom lol mooc moma gafa gafam lidar "
        "inoxx zac zus sopalin ipsos anses anah apec arcep arte cac fed fisc iban edvac sepa "
        "alena mercosur asean apple nato cern sacem adami ",
    .spelled_acronyms =
        " sncf ratp tva usa ue api cpu gpu ia pib adn arn edf gdf rer bts url sms mms vip tv pc cd "
        "dvd usb "
        "pdf html http https css xml sql php csv faq sav rh pdg pme tpe irm ivg ong oms omc onu "
        "fmi bce bnp "
        "hlm cdi cdd tgv ter rtt cgt cfdt fo ps um ump lr rn eelv pcf udi gps lcd led uv hd id ip "
        "ai os io "
        "ceo cto asap fbi cia uk eu url uri svt eps emc ue ufc iut ief iae esa aoc aop igp ogm "
        "pvc abs esp oled ssd hdd nas vpn wc qi adsl rsa apl aah asu cv qcm obs eur usd ok oc ad "
        "atp oac ffa aeg iso ean isbn iata oaci osce ocde acpr amf opa opv kpi ebe ufo ui ux ",
    .capital_words =
        " ça non oui le la les un une des du de au aux et ou où en à ce cet ces se sa son ses ma "
        "mon mes ta "
        "ton tes il elle ils on nous vous je tu me te lui leur ne pas ni si que qui quoi dont sur "
        "sous par "
        "pour dans avec sans est es ai as a ont sont été être avoir fait tout tous très plus trop "
        "peu bien "
        "mal ici là mix fin stop zoo eau feu air mer bus vie ami jus sel thé riz jeu lit clé cri "
        "art rue "
        "nord sud ouest bas haut bon mot dix six sept huit neuf cent mille deux trois cinq quatre "
        "fois car "
        "mais donc or hop ah oh eh hé new top pro max min sac sec vin vol sol net nuit jour soir "
        "pub bar gaz bal but lot don dos duo fan fil gel gin kit lac lin loi mai mur nez nom pot "
        "roi son tel toi moi ton vif vue ",
};
