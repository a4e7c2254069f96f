# Installs the locked npm packages into FOLDER/node_modules, unless they are those of this lock file already.
# Build folders share node_modules, so one installs while the others wait.
file(SHA256 ${FOLDER}/package-lock.json wanted)
set(record ${FOLDER}/node_modules/.mnistd-lock-sha256)

function(packages_are_current result)
  set(found "")
  if(EXISTS ${record})
    file(READ ${record} found)
  endif()
  if(found STREQUAL wanted)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

packages_are_current(current)
if(current)
  return()
endif()

file(LOCK ${FOLDER}/.install.lock GUARD PROCESS RESULT_VARIABLE locked TIMEOUT 600)
if(NOT locked STREQUAL "0")
  message(FATAL_ERROR
    "Cannot install npm packages in ${FOLDER}: ${locked}.\n"
    "The folder must be writable once (then `npm ci --include=dev` there is enough), or build with -DMNISTD_WEB=OFF.")
endif()
packages_are_current(current)
if(current)
  return()
endif()

# --ignore-scripts: none of the packages needs its install script, so none gets to run one.
execute_process(
  COMMAND ${NPM} ci --include=dev --ignore-scripts
  WORKING_DIRECTORY ${FOLDER}
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output
  RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR
    "npm ci failed in ${FOLDER} (status ${status}):\n${output}\n"
    "It needs a package registry within reach. Build without the dashboard: cmake -DMNISTD_WEB=OFF …")
endif()
file(WRITE ${record} ${wanted})
