-- Read by loader.lua before loader.conf.  UEFI's own console setting says whether the serial line is among them, and a
-- second one would print every letter twice; under BIOS the loader asks nobody.  The kernel talks to both in any case.
if loader.getenv("efi-version") == nil then
	loader.setenv("console", "vidconsole,comconsole")
end

-- A kernel that cannot be loaded must not wait at a prompt where nobody stands: started anew, the boot program takes the
-- earlier system where this one was on trial.
local core = require("core")
local boot = core.boot
function core.boot(...)
	boot(...)
	print("This system does not start. The machine starts anew in 30 seconds; any key stays here.")
	local till = loader.time() + 30
	while loader.time() < till do
		if io.ischar() then
			io.getchar()
			return
		end
		loader.delay(50000)
	end
	loader.perform("reboot")
end
