"""The engine of pages, natively, to be compared with the package."""



def explorer_rows(request: str) -> list[tuple[list[float], list[str]]]: ...

def explorer_recording(request: str, index: int) -> str: ...
