from veridical.cli import main

main()
