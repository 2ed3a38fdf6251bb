-- Read by loader.lua before loader.conf.  UEFI's own console setting says whether the serial line is among them, and a
-- second one would print every letter twice; under BIOS the loader asks nobody.  The kernel talks to both in any case.
if loader.getenv("efi-version") == nil then
	loader.setenv("console", "vidconsole,comconsole")
end
