"""The methods, one file each, under the name the field knows them by."""
