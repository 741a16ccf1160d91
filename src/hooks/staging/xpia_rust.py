"""The historical name of the XPIA hook: runs pre_tool_use.py beside this file."""

import os
import runpy

if __name__ == "__main__":
    folder = os.path.dirname(os.path.abspath(__file__))
    runpy.run_path(os.path.join(folder, "pre_tool_use.py"), run_name="__main__")
