-- Read by loader.lua before loader.conf: the loader's own consoles have other names under UEFI than under BIOS.
if loader.getenv("efi-version") ~= nil then
	loader.setenv("console", "efi,comconsole")
else
	loader.setenv("console", "vidconsole,comconsole")
end
