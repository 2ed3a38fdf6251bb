"""256 short plain words, each starting unlike its neighbours in sound, to read a code over a bad telephone line."""

from __future__ import annotations

WORDS: tuple[str, ...] = tuple(
    """
acorn actor alarm album amber angle ankle apple april apron arrow aspen atlas attic autumn badge
baker bamboo banjo barn basil beach beaver bench berry bingo bishop blanket bottle branch brick bridge
bucket buffalo bugle butter cabin cactus camel candle canoe carbon carpet castle cedar cellar chalk cherry
chimney circus clover cobalt coconut comet copper coral cotton cougar cradle crayon cricket crystal curtain daisy
dancer decade delta denim desert dinner dolphin donkey dragon drum eagle earth echo elbow elephant ember
emerald engine falcon farmer feather fender ferry fiddle finger flute forest fossil fountain fox frost galaxy
garden garlic gazelle ginger giraffe glacier globe goblet gospel granite grape gravel guitar hammer harbor harvest
hazel helmet hermit hockey honey hornet hotel hunter iceberg igloo indigo insect iris island ivory jacket
jaguar jasmine jelly jigsaw jockey jungle juniper kayak kernel kettle kitchen kitten ladder lagoon lantern laptop
lemon leopard letter lilac lizard lobster lotus lumber magnet mango maple marble market meadow melon mirror
mitten monkey mosaic motor muffin museum mustard napkin nectar needle nickel noodle north nutmeg oasis ocean
octopus olive onion opera orange orbit orchid otter oven oyster paddle panda paper parrot pebble pencil
pepper piano pickle pigeon pillow pilot planet plum pocket pony potato prairie pumpkin puzzle quartz queen
quilt rabbit radar radio raven ribbon river robin rocket rose ruby saddle sailor salmon sandal scooter
shadow silver spider sponge squirrel stable statue summer sunset table tango teapot temple tiger timber tomato
tractor trumpet tulip tunnel turtle umbrella valley vanilla velvet violin walnut wagon whistle willow window zebra
""".split()
)
