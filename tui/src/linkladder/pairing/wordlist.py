"""256 short, plain words for reading a code over a bad telephone line; three of them carry 24 bits."""

from __future__ import annotations

_TEXT = """
acid acorn actor album alley amber angle ankle apple april apron arrow atlas attic autumn bacon badge baker bamboo
banjo barn basil basket beach beard beaver bench berry bird bishop bison blanket boat bonus book border bottle bowl
brick bridge broom bubble bucket button cabin cable cactus camel canal candle cannon carpet castle cedar celery chain
chalk cherry chess chimney cider circle clay clover coal cobra coffee comet copper coral corner cotton cousin cow
crane crayon cricket crown crystal cup daisy dancer desert diamond dinner doctor dolphin donkey dragon drum duck
eagle easel echo elbow ember engine evening fabric falcon farmer feather fence ferry fiddle finger flag flute forest
fossil fox frost galaxy garden garlic giant ginger glove goat gold goose grape gravel guitar hammer harbor harvest
hazel helmet hero honey hornet horse hotel iceberg igloo indigo insect iron island ivory jacket jaguar jelly jewel
jungle kayak kettle kitchen kite ladder lagoon lantern laser lemon letter lily lion lizard lobster lotus magnet mango
maple marble meadow melon mirror monkey moon mosaic motor muffin museum napkin needle nephew nickel north nutmeg oasis
ocean office olive onion opera orange orbit otter owl oyster paddle palace panda paper parrot pasta peach pebble
pencil pepper piano pigeon pillow pilot pine planet plum pocket poet pony potato prism pumpkin puzzle quartz queen
rabbit radio raven ribbon river robot rocket saddle salmon sand scarf shadow shovel silver sofa spider spoon squid
star storm sugar sunset table teapot tiger timber tomato tulip turtle umbrella valley velvet violin walnut whale
window winter wizard yacht zebra
"""
WORDS = tuple(_TEXT.split())[:256]
