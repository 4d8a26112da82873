// command_response_texts.c: what is said after a command for which its file has no response.
//
// in: language, intent, response key. out: a response in the form of command_response.c, or NULL.
// Questions about the state of a house have none: no text knows the answer, and a sentence that
// sounds like one would be a lie. Their answer is the program's that carries commands out.
#include <string.h>

#include "text/command_compiled.h"

typedef struct shipped_response {
    const char *intent, *key;
    const char *french, *english;
} shipped_response;

#define LASTING "[ {hours|heure|heures}][ {minutes|minute|minutes}][ {seconds|seconde|secondes}]"
#define LASTING_EN "[ {hours|hour|hours}][ {minutes|minute|minutes}][ {seconds|second|seconds}]"

static const shipped_response responses[] = {
    {"HassTurnOn", "default", "C'est allumé[ : {name}].", "[{name} is ]on."},
    {"HassTurnOn", "fans", "Les ventilateurs tournent.", "The fans are on."},
    {"HassTurnOn", "cover", "J'ouvre[ {name}].", "Opening[ {name}]."},
    {"HassTurnOn", "valve", "La vanne est ouverte.", "The valve is open."},
    {"HassTurnOn", "lock", "C'est verrouillé[ : {name}].", "Locked[: {name}]."},
    {"HassTurnOn", "script", "Je lance le script[ {name}].", "Running the script[ {name}]."},
    {"HassTurnOn", "scene", "La scène[ {name}] est en place.", "The scene[ {name}] is set."},
    {"HassTurnOff", "default", "C'est éteint[ : {name}].", "[{name} is ]off."},
    {"HassTurnOff", "fans", "Les ventilateurs sont arrêtés.", "The fans are off."},
    {"HassTurnOff", "cover", "Je ferme[ {name}].", "Closing[ {name}]."},
    {"HassTurnOff", "lock", "C'est déverrouillé[ : {name}].", "Unlocked[: {name}]."},
    {"HassTurnOff", "valve", "La vanne est fermée.", "The valve is closed."},
    {"HassNevermind", "default", "D'accord, j'oublie.", "All right, never mind."},
    {"HassRespond", "hello", "Bonjour !", "Hello!"},
    {"HassBroadcast", "default", "Je transmets : {message}", "Announcing: {message}"},
    {"HassSetPosition", "default", "La position est à {position} %.", "Moving to {position} %."},
    {"HassGetCurrentDate", "default",
     "Nous sommes le {clock_weekday} {clock_day} {clock_month} {clock_year}.",
     "It is {clock_weekday}, {clock_month} {clock_day}, {clock_year}."},
    {"HassGetCurrentTime", "default", "Il est {clock_hour} heures[ {clock_minute}].",
     "It is {clock_hour}[ {clock_minute}]."},
    {"HassLightSet", "brightness", "La lumière est à {brightness} %.",
     "The light is at {brightness} %."},
    {"HassLightSet", "color", "La lumière est en {color}.", "The light is {color}."},
    {"HassLightSet", "temperature", "La teinte est à {temperature} kelvins.",
     "The light is at {temperature} kelvin."},
    {"HassClimateSetTemperature", "default",
     "La température demandée est de {temperature|degré|degrés}.",
     "The temperature is set to {temperature|degree|degrees}."},
    {"HassShoppingListAddItem", "item_added", "J'ajoute {item} aux courses.",
     "Adding {item} to the shopping list."},
    {"HassShoppingListCompleteItem", "item_completed", "Je coche {item}.", "Checking off {item}."},
    {"HassListAddItem", "item_added", "J'ajoute {item}[ à la liste {name}].",
     "Adding {item}[ to {name}]."},
    {"HassListCompleteItem", "item_completed", "Je coche {item}.", "Checking off {item}."},
    {"HassListRemoveItem", "item_deleted", "J'enlève {item}.", "Removing {item}."},
    {"HassVacuumStart", "default", "L'aspirateur démarre.", "The vacuum is starting."},
    {"HassVacuumReturnToBase", "default", "L'aspirateur rentre.", "The vacuum is going home."},
    {"HassVacuumCleanArea", "default", "L'aspirateur nettoie[ : {area}].", "Cleaning[ {area}]."},
    {"HassMediaPause", "default", "Je mets en pause.", "Paused."},
    {"HassMediaUnpause", "default", "Je reprends la lecture.", "Playing again."},
    {"HassMediaNext", "default", "Je passe à la suite.", "Going on to the next one."},
    {"HassMediaPrevious", "default", "Je reviens en arrière.", "Going back to the last one."},
    {"HassSetVolume", "default", "Le volume est à {volume_level} %.",
     "The volume is at {volume_level} %."},
    {"HassMediaPlayerMute", "default", "Je coupe le son.", "Muted."},
    {"HassMediaPlayerUnmute", "default", "Je remets le son.", "The sound is back."},
    {"HassSetVolumeRelative", "default", "Je change le volume.", "Changing the volume."},
    {"HassMediaSearchAndPlay", "default", "Je cherche {search_query}.",
     "Looking for {search_query}."},
    {"HassStartTimer", "default", "Le minuteur est lancé :" LASTING ".",
     "The timer is set:" LASTING_EN "."},
    {"HassStartTimer", "command", "C'est noté pour dans" LASTING ".", "I will, in" LASTING_EN "."},
    {"HassCancelAllTimers", "default", "Il n'y a plus de minuteur.", "There are no timers left."},
    {"HassCancelTimer", "default", "Le minuteur est supprimé.", "The timer is cancelled."},
    {"HassIncreaseTimer", "default", "Le minuteur est prolongé.", "The timer is longer now."},
    {"HassDecreaseTimer", "default", "Le minuteur est raccourci.", "The timer is shorter now."},
    {"HassPauseTimer", "default", "Le minuteur attend.", "The timer is waiting."},
    {"HassUnpauseTimer", "default", "Le minuteur repart.", "The timer goes on."},
    {"HassFanSetSpeed", "default", "La vitesse est à {percentage} %.",
     "The speed is at {percentage} %."},
    {"HassLawnMowerStartMowing", "default", "La tondeuse démarre.", "The mower is starting."},
    {"HassLawnMowerDock", "default", "La tondeuse rentre.", "The mower is going home."},
};

const char *kz_command_shipped_response(const char *language, const char *intent, const char *key) {
    for (size_t i = 0; i < sizeof responses / sizeof responses[0]; i++) {
        if (strcmp(responses[i].intent, intent) == 0 && strcmp(responses[i].key, key) == 0) {
            return strcmp(language, "en") == 0 ? responses[i].english : responses[i].french;
        }
    }
    return NULL;
}
